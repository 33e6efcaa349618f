"""Where keys come from, which are refused, and that no error shows one."""

import secrets
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigError
from frazil.inputs.keys import read_keys

__all__: list[str] = []

KEY = bytes(range(240, 256))


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
        (KEY.hex(), "if this was one, it is known now"),
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
        ("0=env:HERE", "if this was one"),
        ("env:", "if this was one"),
        ("env:ABSENT", "no variable ABSENT"),
        ("file:/absent", "No such file"),
        ("file:/", "Is a directory"),
        ("file:a\0b", "null"),
        ("env:SHORT", "SHORT has 120 bits"),
        ("env:ODD", "holds 31 characters that are no key"),
        ("env:WORDS", "that are no key"),
        ("env:EMPTY", "holds 0 characters"),
    ],
)
def test_refused_keys(given: Any, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "HERE": KEY.hex(),
        "SHORT": KEY[:15].hex(),
        "ODD": KEY.hex()[1:],
        "WORDS": "correct horse battery",
        "EMPTY": "",
    }
    monkeypatch.delenv("ABSENT", raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=reason) as caught:
        read_keys(given)
    shown = f"{caught.value} {caught.value.facts}"
    for secret in (KEY.hex()[:20], KEY.hex()[1:20], "horse", repr(KEY)[2:20]):
        assert secret not in shown
