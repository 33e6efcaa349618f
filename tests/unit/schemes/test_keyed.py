"""Keyed text: what it writes and refuses, that it shows no order, and that it tells no key.

And its cipher: FF1 against NIST's samples, and many numbers at once against one by one.
"""

import copy
import dataclasses
import json
import logging
import pickle
import pprint
import secrets
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ffx import FF1

from frazil.errors import CodecError, ConfigError
from frazil.inputs.keys import read_keys
from frazil.schemes.cipher import NumberCipher
from frazil.schemes.keyed import KeyedCodec
from frazil.schemes.scheme import Scheme, scheme

OLD, NEW = bytes(range(16)), bytes(range(100, 132))
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "keyed.json").read_text())


def keyed(**changes: Any) -> Scheme:
    return scheme("icicle", **{"prefix": "order_", "key": OLD, **changes})


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["text"])
def test_golden_values(case: dict[str, Any]) -> None:
    codec = KeyedCodec(
        case["encoding"],
        case["bits"],
        prefix=case["prefix"],
        check=case["check"],
        keys=read_keys({case["key_number"]: bytes.fromhex(case["key"])}),
    )
    assert codec.encode(int(case["number"])) == case["text"]
    assert codec.decode(case["text"]) == int(case["number"])


def test_a_decimal_scheme_becomes_base62() -> None:
    assert keyed().encoding == "base62"
    assert keyed(encoding="hex").encoding == "hex"
    assert scheme("tsid", key=OLD).encoding == "base32"
    assert scheme(scheme("icicle", prefix="order_"), key=OLD) == keyed()
    assert scheme(keyed(), prefix="user_").key == keyed().key
    with pytest.raises(ConfigError, match="not written in decimal"):
        keyed(encoding="decimal")


def test_a_uuid_scheme_becomes_base62() -> None:
    s = scheme("uuid7", key=OLD)
    assert s.encoding == "base62"
    assert s.parse(s.format(s.id_max)) == s.id_max
    with pytest.raises(ConfigError, match="at most 90 bits"):
        scheme("uuid7", key=OLD, encoding="uuid")


def test_the_number_the_fingerprint_and_the_fields_have_no_key() -> None:
    plain = scheme("icicle", prefix="order_")
    assert keyed().fingerprint == plain.fingerprint == keyed(key=NEW).fingerprint
    n = plain.pack(time=5, node=6, sequence=7)
    assert keyed().pack(time=5, node=6, sequence=7) == n
    assert keyed().unpack(n) == plain.unpack(n)
    assert keyed().read(n) == keyed().read(keyed().format(n)) == n


def test_rotation() -> None:
    """The last key writes, all read; with the order the fleet learns a key before it is used."""
    first = keyed(key={1: OLD})
    learnt = keyed(key={2: NEW, 1: OLD})
    rotated = keyed(key={1: OLD, 2: NEW})
    assert learnt.format(9) == first.format(9) != rotated.format(9)
    for s in (learnt, rotated):
        assert s.parse(first.format(9)) == s.parse(rotated.format(9)) == 9
    texts = [first.format(5), rotated.format(6), first.format(7)]
    assert rotated.codec.decode_array(texts).tolist() == [5, 6, 7]
    with pytest.raises(CodecError, match="key 2 is not known here; known: 1\n") as caught:
        first.parse(rotated.format(9))
    assert caught.value.position == len("order_")
    with pytest.raises(CodecError, match=r"element 1: .*\n?.*key 2 is not known"):
        first.codec.decode_array(texts)


@pytest.mark.parametrize(
    ("text", "reason", "position"),
    [
        ("", "must begin with 'order_'", 0),
        ("user_1AAAAAAAAAAA", "must begin with 'order_'", 0),
        ("order_", "number of a key", 6),
        ("order_0AAAAAAAAAAA", "number of a key", 6),
        ("order_\u00b9AAAAAAAAAAA", "number of a key", 6),
        ("order_3AAAAAAAAAAA", "key 3 is not known here; known: 1", 6),
        ("order_1AAAA-AAAAAA", "'-' is not a character", 11),
        ("order_1AAAAAAAAAA", "ends after 17 of 18", 17),
        ("order_1AAAAAAAAAAAA", "must end after 18", 18),
        ("order_1zzzzzzzzzzz", "larger than", 7),
        ("order_1LygHa16AHYG", "larger than", 17),
    ],
)
def test_refused_texts(text: str, reason: str, position: int) -> None:
    for read in (keyed().parse, lambda one: keyed().codec.decode_array([one])):
        with pytest.raises(CodecError, match=reason) as caught:
            read(text)
        assert caught.value.position == position


@pytest.mark.parametrize("name", ["icicle", "chibrary", "globalid-128", "js53", "tsid"])
@pytest.mark.parametrize("encoding", ["hex", "base32", "base58", "base62"])
def test_many_are_as_one(name: str, encoding: str) -> None:
    s = scheme(name, encoding=encoding, check=encoding == "base32", key={1: NEW, 4: OLD})
    numbers = [secrets.randbits(s.bits) for _ in range(50)] + [0, (1 << s.bits) - 1]
    texts = [s.format(n) for n in numbers]
    wide = np.array([(n >> 64, n & 2**64 - 1) for n in numbers], [("hi", "<u8"), ("lo", "<u8")])
    given = wide if s.bits > 64 else np.array(numbers, np.uint64)
    written = s.codec.encode_array(given)
    assert written.astype(str).tolist() == texts
    for column in (texts, written, written.astype(str)):
        assert (s.codec.decode_array(column) == given).all()
    assert [s.parse(text) for text in texts] == numbers
    assert len(s.codec.decode_array([])) == 0


def test_bulk_errors_name_the_element() -> None:
    codec = keyed().codec
    with pytest.raises(CodecError, match="element 1"):
        codec.encode_array(np.array([1, -1]))
    with pytest.raises(CodecError, match="element 1"):
        codec.decode_array([codec.encode(1), ""])
    with pytest.raises(CodecError, match="element 0"):
        codec.decode_array(["\u20ac"])


def test_a_small_layout_is_refused() -> None:
    with pytest.raises(ConfigError, match="19 bits are too few") as caught:
        scheme("node:9 sequence:10", key=OLD)
    assert caught.value.limit == 20
    s = scheme("node:10 sequence:10", key=OLD)
    assert s.parse(s.format(7)) == 7


def shown(value: object) -> list[str]:
    return [str(value), repr(value), format(value), ascii(value)]


def test_nothing_shows_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    key = secrets.token_bytes(32)
    monkeypatch.setenv("FRAZIL_TEST_KEY", key.hex())
    telling = [key.hex(), key.hex().upper(), b64encode(key).decode()[:40], repr(key)[2:-1]]
    for given in (key, "env:FRAZIL_TEST_KEY"):
        s = keyed(key=given)
        found = [*shown(s), *shown(s.key), *shown(s.codec), *shown(s.codec._ciphers)]
        for call in (
            lambda s=s: s.parse("x"),
            lambda s=s: s.parse("order_9AAAAAAAAAAA"),
            lambda s=s: s.format(-1),
            lambda s=s: s.read(None),
        ):
            with pytest.raises(CodecError) as caught:
                call()
            found += [str(caught.value), repr(caught.value), repr(caught.value.facts)]
        found += [s.fingerprint, s.pattern, str(s.layout)]
        for text in found:
            assert not [secret for secret in telling if secret in text]
    by_name = pickle.dumps(keyed(key="env:FRAZIL_TEST_KEY"))
    assert key not in by_name
    assert key.hex().encode() not in by_name


def attributes(value: object, depth: int = 6) -> list[str]:
    """What a debugger shows: the values of an object, and theirs."""
    found = [repr(value)]
    if depth and hasattr(value, "__dict__"):
        for one in vars(value).values():
            found += attributes(one, depth - 1)
    if isinstance(value, list | tuple):
        for one in value:
            found += attributes(one, depth - 1)
    return found


def test_no_view_of_the_object_shows_the_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = secrets.token_bytes(32)
    monkeypatch.setenv("FRAZIL_TEST_KEY", key.hex())
    telling = [key.hex(), b64encode(key).decode()[:40], repr(key)[2:-1]]
    for given in (key, "env:FRAZIL_TEST_KEY"):
        s = keyed(key=given)
        text = s.format(5)
        caplog.clear()
        logging.getLogger("frazil").warning("%s %r %s", s, s.codec, vars(s), extra={"scheme": s})
        (record,) = caplog.records
        found = [
            repr(dataclasses.asdict(s)),
            repr(dataclasses.astuple(s)),
            json.dumps(dataclasses.asdict(s), default=str),
            pprint.pformat(s),
            caplog.text,
            *map(repr, vars(record).values()),
            *attributes(s.key),
            *attributes(s, depth=4),
        ]
        assert not [secret for secret in telling for one in found if secret in one]
        for twin in (copy.copy(s), copy.deepcopy(s), dataclasses.replace(s)):
            assert twin == s
            assert twin.format(5) == text
        assert s != keyed(key=NEW)


def test_a_key_without_a_name_is_not_pickled() -> None:
    for one in (keyed(), keyed().key, keyed(key={1: OLD}).codec):
        with pytest.raises(ConfigError, match=r"given as bytes is not pickled.*env:ORDER_KEY"):
            pickle.dumps(one)


def test_pickle_and_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_TEST_KEY", NEW.hex())
    monkeypatch.setenv("FRAZIL_TEST_OLD", OLD.hex())
    s = keyed(key={3: "env:FRAZIL_TEST_OLD", 2: "env:FRAZIL_TEST_KEY"})
    text = s.format(77)
    stored = pickle.dumps(s)
    assert NEW not in stored
    assert OLD not in stored
    found = pickle.loads(stored)
    assert found == s
    assert found.format(77) == text
    monkeypatch.delenv("FRAZIL_TEST_KEY")
    assert copy.deepcopy(s).format(77) == copy.copy(s).format(77) == text
    with pytest.raises(ConfigError, match="no variable FRAZIL_TEST_KEY"):
        pickle.loads(stored)


SAMPLES = json.loads((Path(__file__).parents[2] / "vectors" / "ff1.json").read_text())["samples"]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: str(sample["sample"]))
def test_samples_of_nist(sample: dict[str, Any]) -> None:
    """The library that frazil uses computes the nine published samples of FF1."""
    ff1 = FF1(bytes.fromhex(sample["key"]), radix=sample["radix"])
    tweak = bytes.fromhex(sample["tweak"])
    assert ff1.encrypt(sample["plaintext"], tweak=tweak) == sample["ciphertext"]
    assert ff1.decrypt(sample["ciphertext"], tweak=tweak) == sample["plaintext"]


def test_threads_share_a_cipher() -> None:
    cipher = NumberCipher(bytes(16), 64, b"order_")
    numbers = np.arange(20_000, dtype=np.uint64)
    expected = cipher.each(numbers, decrypt=False)
    wrong: list[object] = []

    def work(part: int) -> None:
        if not (cipher.each(numbers, decrypt=False) == expected).all():
            wrong.append("array")
        wrong.extend(n for n in range(part, 800, 4) if cipher.encrypt(n) != expected[n])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert wrong == []
