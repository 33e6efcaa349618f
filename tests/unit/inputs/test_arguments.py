"""The checks of the arguments of ``open``, ``mint``, ``aio.open`` and ``scheme``."""

import asyncio

import numpy as np
import pytest
from prometheus_client import CollectorRegistry

import frazil
import frazil.aio
from frazil.errors import ConfigError, FrazilError, LayoutError

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
        *({"group": -1}, {"group": "4"}, {"group": True}, {"encoding": "alphabet:AA"}),
        *({"shuffle": 5}, {"shuffle": b"x"}, {"epoch": []}, {"epoch": 5.5}, {"foo": 1}),
    ],
    ids=str,
)
def test_scheme(options):
    with pytest.raises((ConfigError, LayoutError)):
        frazil.scheme("uniqueid-spread", **options)


ODD = [
    *(None, "20001", 1.5, np.int64(5), [], {}, object(), b"x", True, -1, 10**5000, "9" * 5000),
    *(["9" * 5000], np.float64("nan"), np.bool_(True)),
]
OPTIONS = {
    "open": [
        *("url", "scheme", "namespace", "fields", "lead", "timeout", "sequence_start", "block"),
        *("token", "keep", "registry"),
    ],
    "mint": ["n", "scheme", "namespace", "fields", "lead", "timeout", "registry"],
    "init": ["scheme", "namespace", "fields", "start", "forward", "new", "if_missing", "timeout"],
    "scheme": ["fields", "epoch", "encoding", "shuffle", "prefix", "check", "key", "group"],
    "Codec": ["encoding", "bits", "prefix", "check"],
    "Layout.parse": ["text"],
    "ready": ["timeout"],
    "take": ["n"],
    "array": ["n", "dtype"],
    "pack": ["time", "node", "moment"],
    "parse": ["text"],
    "read": ["value"],
    "format": ["n"],
    "unpack": ["n"],
    "positions": ["role"],
    "why_unready": ["generator", "margin", "timeout"],
    "ReadyApp": ["generator", "margin", "timeout"],
    "status": ["margin_s"],
    "prometheus": ["registry"],
    "opentelemetry": ["meter_provider"],
}


def calls(name, option, fresh):
    """What calls ``name`` with a value of ``option``, in a namespace of its own."""
    ids = frazil.open(f"memory:{fresh}-used")
    ids()
    awaited = frazil.aio.open(f"memory:{fresh}-used")
    scheme, ready = ids.scheme, frazil.readiness
    at = f"memory:{fresh}"
    plain = {
        "open": lambda **k: frazil.open(**{"url": at, "scheme": "tickets", **k}).close(),
        "mint": lambda **k: frazil.mint(**{"n": 1, "url": at, **k}),
        "init": lambda **k: frazil.init(at, **{"scheme": "tickets", "start": 1, **k}),
        "scheme": lambda **k: frazil.scheme("icicle", **k),
        "Codec": lambda **k: frazil.Codec(**{"encoding": "hex", "bits": 64, **k}),
        "Layout.parse": frazil.Layout.parse,
        "ready": lambda timeout: (ids.ready(timeout), asyncio.run(awaited.ready(timeout))),
        "take": lambda n: (ids.take(n), asyncio.run(awaited.take(n))),
        "array": lambda **k: ids.array(**{"n": 1, **k}),
        "pack": lambda **k: scheme.pack(**{"node": 1, "sequence": 1, **k}),
        "parse": scheme.parse,
        "read": scheme.read,
        "format": scheme.format,
        "unpack": scheme.unpack,
        "positions": scheme.positions,
        "why_unready": lambda generator=ids, **k: (
            ready.why_unready(generator, **k),
            asyncio.run(ready.why_unready_async(generator, **k)),
        ),
        "ReadyApp": lambda generator=ids, **k: ready.ReadyApp(generator, **k),
        "prometheus": lambda registry: frazil.metrics.prometheus(registry or CollectorRegistry()),
        "opentelemetry": frazil.metrics.opentelemetry,
        "status": lambda margin_s: ids.status().why_unready(margin_s),
    }
    call = plain[name]
    positional = name in {"Layout.parse", "parse", "read", "format", "unpack", "positions"}
    return lambda value: call(value) if positional else call(**{option: value})


@pytest.mark.parametrize(
    ("name", "option"), [(name, each) for name in OPTIONS for each in OPTIONS[name]]
)
def test_an_odd_value_works_or_is_refused_in_one_line(name, option, request):
    """No error of Python's inside frazil, and no error that repeats thousands of characters."""
    texts = []
    for number, value in enumerate(ODD):
        try:
            calls(name, option, f"{request.node.name}-{number}")(value)
        except FrazilError as error:
            texts.append(str(error))
    assert [text[:100] for text in texts if len(text) > 700] == []


@pytest.mark.parametrize(
    ("name", "option", "wrong"),
    [
        *(("init", "start", each) for each in ("20001", 1.5, [], True, -1)),
        *(("init", each, "no") for each in ("forward", "new", "if_missing")),
        *(("why_unready", "generator", each) for each in (None, "x", frazil.open)),
        *(("ReadyApp", "generator", each) for each in (None, [], object())),
        *(("ReadyApp", each, "soon") for each in ("margin", "timeout")),
        *(("why_unready", "timeout", each) for each in ("soon", True)),
        *(("prometheus", "registry", each) for each in ("x", 1.5)),
        *(("opentelemetry", "meter_provider", each) for each in ("x", [])),
        *(("status", "margin_s", each) for each in ("5s", [], b"x")),
    ],
)
def test_the_error_names_the_argument(name, option, wrong, request):
    with pytest.raises(ConfigError, match=option):
        calls(name, option, request.node.name)(wrong)


def test_integers_of_numpy(request):
    five = np.int64(5)
    url = f"memory:{request.node.name}"
    assert len(frazil.mint(five, url, timeout=five)) == 5
    assert frazil.init(url, "tickets", namespace="n", start=five, timeout=five)
    with frazil.open(url, "tickets", namespace="n", block=five, keep=five, lead=five) as ids:
        assert ids.take(five) == [5, 6, 7, 8, 9]
        ids.ready(five)
        assert ids.status().why_unready(five) == ""
        assert frazil.readiness.why_unready(ids, margin=five, timeout=five) == ""
