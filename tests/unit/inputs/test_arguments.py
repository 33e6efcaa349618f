"""The checks of the arguments of ``open``, ``mint``, ``aio.open`` and ``scheme``."""

import pytest

import frazil
import frazil.aio
from frazil.errors import ConfigError, LayoutError

TARGETS = ["memory:", "icicle://localhost:1", "http://localhost:1/a"]
CALLS = {"open": frazil.open, "aio.open": frazil.aio.open, "mint": lambda **k: frazil.mint(1, **k)}
WRONG = {
    "url": [5, b"sqlite:", ["x"], "", " ", True, object()],
    "scheme": [5, None, b"icicle", []],
    "namespace": [5, None, b"x", ["a"], "", "a" * 201],
    "fields": [5, "x", [1], {5: 1}, {"nope": 1}],
    "lead": [None, [], "x", b"1s", True, float("nan"), float("inf"), -1, 10**400, 1j],
    "timeout": [None, [], "x", True, float("nan"), 10**400],
}
STAYS = {
    "sequence_start": [None, [], 1, 0.0, "x", {}, True],
    "block": ["x", 0, 1.5, [], True],
    "token": [5, b"x", []],
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.partition(":")[0])
@pytest.mark.parametrize("name", [*WRONG, *STAYS])
@pytest.mark.parametrize("call", CALLS)
def test_argument_of_another_type(call, name, target):
    for value in (WRONG | STAYS)[name]:
        with pytest.raises((ConfigError, LayoutError)) as caught:
            CALLS[call](**{"url": target, "scheme": "icicle", name: value})
        assert "object has no" not in str(caught.value)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.partition(":")[0])
@pytest.mark.parametrize("call", CALLS)
def test_unknown_argument(call, target):
    with pytest.raises(ConfigError, match=r"has no argument foo=; It accepts .*namespace, fields"):
        CALLS[call](url=target, foo=1)
    with pytest.raises(ConfigError, match="did you mean namespace="):
        CALLS[call](url=target, namespce="orders")


def test_value_of_another_type_is_not_shown():
    with pytest.raises(ConfigError) as caught:
        frazil.open(b"redis://:secret@host")
    assert "secret" not in str(caught.value)
    assert str(caught.value) == "url= must be a string like 'redis://host', or a Path, not bytes"


@pytest.mark.parametrize(
    "options",
    [
        *({"fields": 5}, {"fields": "x"}, {"fields": {5: 1}}, {"fields": {"cluster": "3"}}),
        *({"encoding": 5}, {"encoding": []}, {"encoding": "x"}, {"prefix": 5}, {"check": "yes"}),
        *({"shuffle": 5}, {"shuffle": b"x"}, {"epoch": []}, {"epoch": 5.5}, {"foo": 1}),
    ],
    ids=str,
)
def test_scheme(options):
    with pytest.raises((ConfigError, LayoutError)):
        frazil.scheme("uniqueid-spread", **options)
