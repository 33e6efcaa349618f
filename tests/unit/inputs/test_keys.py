"""Where keys come from, which are refused, and that no error shows one."""

import secrets
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest

from frazil.errors import ConfigError, FrazilError
from frazil.inputs.keys import read_keys
from frazil.schemes.scheme import scheme

KEY = bytes(range(240, 256))
TEXT = b64encode(KEY).decode()


@pytest.mark.parametrize("size", [16, 24, 32])
def test_every_form(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = secrets.token_bytes(size)
    for text in (
        key.hex(),
        key.hex().upper(),
        b64encode(key).decode(),
        urlsafe_b64encode(key).decode(),
        f"  {key.hex()}\n",
    ):
        monkeypatch.setenv("A_KEY", text)
        path = tmp_path / "key"
        path.write_text(text)
        for given in ("env:A_KEY", f"file:{path}", f"1=file:{path}", ["env:A_KEY"], {1: key}, key):
            (one,) = read_keys(given).keys
            assert (one.number, one.secret.reveal()) == (1, key)


def test_several_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", KEY.hex())
    monkeypatch.setenv("B", KEY.hex()[::-1])
    keys = read_keys(("3=env:A", "2=env:B"))
    assert ([key.number for key in keys.keys], keys.writer.number, keys.numbers) == (
        [3, 2],
        2,
        "2, 3",
    )
    assert read_keys({3: "env:A", 2: "2=env:B"}) == keys
    assert repr(keys) == "<keys 3=env:A, 2=env:B>"
    assert repr(read_keys({4: KEY})) == "<keys 4=***>"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (KEY.hex(), "if this was a key, it is exposed"),
        (KEY[:15], "has 120 bits; give 128, 192 or 256"),
        (KEY * 3, "has 384 bits"),
        (b"", "has 0 bits"),
        (bytearray(KEY), "bytes or a name, not bytearray"),
        (7, "not int"),
        ([], "no key is given"),
        ({}, "no key is given"),
        ([7], "not int"),
        ({0: KEY}, "from 1 to 9"),
        ({10: KEY}, "from 1 to 9"),
        ({True: KEY}, "from 1 to 9"),
        ({2: "1=env:HERE"}, "listed as number 2"),
        (["env:HERE", "env:HERE"], "has no number"),
        (["1=env:HERE", "1=env:HERE"], "two keys have the number 1"),
        ("0=env:HERE", "if this was a key"),
        ("env:", "if this was a key"),
        ("env:ABSENT", "no variable ABSENT"),
        ("file:/absent", "No such file"),
        ("file:/", "Is a directory"),
        ("file:a\0b", "null"),
        ("env:SHORT", "SHORT has 120 bits"),
        ("env:ODD", "holds 31 characters that are not a key"),
        ("env:WORDS", "that are not a key"),
        ("env:EMPTY", "holds 0 characters"),
        ("env:" + KEY.hex(), "if this was a key"),
        ("file:" + KEY.hex().upper(), "if this was a key"),
        ("2=env: " + KEY.hex() * 2, "if this was a key"),
        (["1=env:" + KEY.hex(), "2=env:HERE"], "if this was a key"),
        ({2: "1=file:" + KEY.hex()}, "if this was a key"),
        ("env:" + TEXT, "if this was a key"),
        ("file:" + TEXT.rstrip("="), "if this was a key"),
        ("env:EQUAL", r"all bytes of the key in env:EQUAL are equal, .*: openssl rand -hex 32"),
        (bytes(16), "all bytes of the key are equal"),
        ({1: b"x" * 32}, "openssl rand"),
    ],
)
def test_refused_keys(given: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "HERE": KEY.hex(),
        "SHORT": KEY[:15].hex(),
        "ODD": KEY.hex()[1:],
        "WORDS": "correct horse battery",
        "EMPTY": "",
        "EQUAL": "22" * 32,
    }
    monkeypatch.delenv("ABSENT", raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=reason) as caught:
        read_keys(given)
    shown = f"{caught.value} {caught.value.facts}"
    variables = variables_of(caught.value)
    for secret in (
        KEY.hex()[:20],
        KEY.hex().upper()[:20],
        KEY.hex()[1:20],
        "horse",
        repr(KEY)[2:20],
        TEXT[:18],
    ):
        assert secret not in shown
        assert not [one for one in variables if secret in one]


def variables_of(error: BaseException | None) -> list[str]:
    """What a tool that records errors sees: the variables of each frame of frazil."""
    found = []
    while error is not None:
        for frame, _ in walk_tb(error.__traceback__):
            if "frazil" in frame.f_globals["__name__"].split("."):
                found += [f"{name}={value!r}" for name, value in frame.f_locals.items()]
        error = error.__cause__ or error.__context__
    return found


@pytest.mark.parametrize("as_given", [bytes, bytearray, list, lambda key: {1: key}, bytes.hex])
@pytest.mark.parametrize(
    "wrong",
    [
        {"spec": "nosuch"},
        {"prefix": "no prefix"},
        {"fields": 7},
        {"epoch": "never"},
        {"encoding": "decimal"},
        {"spec": "time:10 node:2 @1s since 2025-01-01T00:00:00Z"},
        {"unknown": 1},
    ],
)
def test_no_frame_of_an_error_holds_a_key(as_given: Any, wrong: dict[str, Any]) -> None:
    for name in ("key", "kye"):
        with pytest.raises(FrazilError) as caught:
            scheme(**wrong, **{name: as_given(KEY)})
        found = variables_of(caught.value)
        assert found
        for secret in (KEY, bytearray(KEY), KEY.hex(), list(KEY)):
            assert not [one for one in found if str(secret)[2:-2] in one]


def test_a_name_that_looks_like_a_key_may_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORDER_KEY_of_the_service", KEY.hex())
    assert read_keys("env:ORDER_KEY_of_the_service").keys[0].secret.reveal() == KEY
    monkeypatch.chdir(tmp_path)
    Path("a1" * 16).write_text(KEY.hex())
    assert read_keys(f"file:{'a1' * 16}").keys[0].secret.reveal() == KEY
    with pytest.raises(ConfigError, match="no variable THE_KEY_OF_THE_ORDERS_IN_PRODUCTION"):
        read_keys("env:THE_KEY_OF_THE_ORDERS_IN_PRODUCTION")
