"""Keyed UUIDs: known answers, the bits of RFC 9562, and what is noticed and refused."""

import json
import pickle
import re
import secrets
import uuid
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from sqlalchemy import Column, MetaData, Table, create_engine, select

import frazil
import frazil.pydantic
import frazil.sqlalchemy
from frazil.errors import CodecError, ConfigError
from frazil.inputs.keys import read_keys
from frazil.schemes.keyed_uuid import KeyedUuidCodec
from frazil.schemes.scheme import Scheme

OLD, NEW = bytes(range(16)), bytes(range(100, 132))
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "keyed_uuid.json").read_text())
N = 1425240015351840769


def keyed(**changes: Any) -> Scheme:
    return frazil.scheme("icicle", **{"encoding": "uuid", "key": OLD, **changes})


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["text"])
def test_known_answers(case: dict[str, Any]) -> None:
    keys = read_keys(bytes.fromhex(case["key"]))
    codec = KeyedUuidCodec("uuid", case["bits"], prefix=case["prefix"], keys=keys)
    assert codec.encode(int(case["number"])) == case["text"]
    assert codec.decode(case["text"]) == int(case["number"])
    assert re.search(codec.pattern, case["text"], re.ASCII)


@given(st.integers(0, 2**63 - 1), st.sampled_from(["", "order_"]))
def test_every_id_is_a_uuid_of_version_8_and_comes_back(n: int, prefix: str) -> None:
    s = keyed(prefix=prefix)
    made = s.uuid(n)
    assert (made.version, made.variant) == (8, uuid.RFC_4122)
    assert s.format(n) == f"{prefix}{made}"
    assert s.read(made) == s.read(s.format(n)) == s.read(n) == n


def test_neighbours_share_nothing() -> None:
    made = [keyed().uuid(N + i).int for i in range(200)]
    differing = [(a ^ b).bit_count() for a, b in pairwise(made)]
    assert min(differing) > 40
    assert sorted(made) != made


def test_a_wrong_key_and_every_altered_bit_are_refused() -> None:
    s, other = keyed(), keyed(key=NEW)
    for n in (0, N, 2**63 - 1):
        with pytest.raises(CodecError, match="no key that is known here"):
            other.parse(s.format(n))
        for bit in range(128):
            with pytest.raises(CodecError):
                s.read(uuid.UUID(int=s.uuid(n).int ^ 1 << bit))


def test_forged_ones_are_refused() -> None:
    s = keyed()
    for _ in range(300):
        forged = secrets.randbits(128) & ~(0xF << 76 | 3 << 62) | 8 << 76 | 2 << 62
        with pytest.raises(CodecError):
            s.read(uuid.UUID(int=forged))
    for another in (uuid.uuid4(), uuid.UUID(int=0), uuid.uuid1()):
        with pytest.raises(CodecError, match="version 8"):
            s.read(another)


def test_without_spare_bits_a_wrong_key_would_be_read() -> None:
    """What the check notices: the same cipher, with a limit that any number is under."""
    codec = keyed(key=NEW).codec
    codec.__dict__["limit"] = 1 << 122
    assert codec.decode(keyed().format(N)) != N


def test_another_prefix_is_another_uuid() -> None:
    order, user = keyed(prefix="order_"), keyed(prefix="user_")
    assert order.uuid(N) != user.uuid(N) != keyed().uuid(N)
    with pytest.raises(CodecError, match="no key"):
        user.read(order.uuid(N))


def test_rotation() -> None:
    first = keyed(key={1: OLD})
    learnt, rotated = keyed(key={2: NEW, 1: OLD}), keyed(key={1: OLD, 2: NEW})
    assert learnt.format(9) == first.format(9) != rotated.format(9)
    for s in (learnt, rotated):
        assert s.parse(first.format(9)) == s.parse(rotated.format(9)) == 9
    with pytest.raises(CodecError):
        first.parse(rotated.format(9))


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("1a77f0e6-33bf-76fd-afe6-24e065178530", 14, "version 8, not '7'"),
        ("1a77f0e6-33bf-86fd-cfe6-24e065178530", 19, "variant"),
        ("1a77f0e6-33bf-86fd-afe6-24e065178531", 0, "no key"),
        ("1A77F0E6-33BF-86FD-AFE6-24E065178530", 1, "lower case"),
        ("1a77f0e633bf86fdafe624e065178530", 8, "'-' here"),
        ("1a77f0e6-33bf-86fd-afe6-24e06517853", 35, "ends after 35 of 36"),
    ],
)
def test_an_error_shows_the_place(text: str, position: int, reason: str) -> None:
    for read in (keyed().parse, lambda one: keyed().codec.decode_array([one])):
        with pytest.raises(CodecError, match=reason) as caught:
            read(text)
        assert caught.value.position == position


@pytest.mark.parametrize("name", ["icicle", "discord", "chibrary", "wide"])
def test_many_are_as_one(name: str) -> None:
    layout = "time:60 node:10 sequence:20 @1ms since 2025-01-01" if name == "wide" else name
    s = frazil.scheme(layout, key=OLD, encoding="uuid")
    texts = [s.format(n) for n in (0, 1, 2**40, s.id_max)]
    numbers = s.codec.decode_array(texts)
    assert s.codec.encode_array(numbers).astype(str).tolist() == texts
    if s.bits <= 64:
        assert numbers.tolist() == [s.parse(text) for text in texts]
        with pytest.raises(CodecError, match="element 1"):
            s.codec.decode_array([texts[0], texts[1][:-1] + "x"])


def test_what_is_too_wide_or_too_small() -> None:
    for scheme in ("uuid7", "globalid-128", "time:62 node:10 sequence:20 @1ms since 2025-01-01"):
        with pytest.raises(ConfigError, match="at most 90 bits"):
            frazil.scheme(scheme, key=OLD, encoding="uuid")
    with pytest.raises(ConfigError, match="19 bits are too few"):
        frazil.scheme("node:9 sequence:10", key=OLD, encoding="uuid")
    with pytest.raises(ConfigError, match="'uuid7', another encoding, or a key"):
        frazil.scheme("icicle", encoding="uuid")
    with pytest.raises(ConfigError, match="check character"):
        keyed(check=True)


def test_a_generator_makes_them() -> None:
    with frazil.open("memory:", keyed()) as ids:
        made = ids.uuid()
        assert made.version == 8
        assert ids.scheme.unpack(ids.scheme.read(made)).moment is not None
        assert uuid.UUID(ids.text()).version == 8


def test_clients_and_columns_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAZIL_TEST_KEY", NEW.hex())
    s = keyed(key="env:FRAZIL_TEST_KEY")
    assert pickle.loads(pickle.dumps(s)).uuid(N) == s.uuid(N)
    kind = TypeAdapter(Annotated[int, frazil.pydantic.Id(s)])
    assert kind.validate_json(f'"{s.uuid(N)}"') == kind.validate_python(s.uuid(N)) == N
    assert kind.dump_json(N) == f'"{s.uuid(N)}"'.encode()
    table = Table("orders", MetaData(), Column("id", frazil.sqlalchemy.Id(s), primary_key=True))
    engine = create_engine("sqlite://")
    table.metadata.create_all(engine)
    with engine.begin() as link:
        link.execute(table.insert(), [{"id": s.uuid(N)}])
        assert link.scalars(select(table.c.id).where(table.c.id == s.uuid(N))).all() == [N]
    engine.dispose()
