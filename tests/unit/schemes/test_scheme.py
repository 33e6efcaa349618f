"""Every preset gives the published numbers both ways, and schemes are put together right."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from frazil.errors import CodecError, ConfigError, LayoutError
from frazil.schemes.scheme import PRESETS, Scheme, names, scheme
from frazil.schemes.shuffle import Shuffle

VECTORS = Path(__file__).parents[2] / "vectors"
SINCE = "2015-01-01T00:00:00Z"


def cases(system: str, key: str = "cases") -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads((VECTORS / f"{system}.json").read_text())[key]
    assert listed
    return listed


def preset(name: str) -> Scheme:
    return scheme(name, epoch=SINCE if name == "chibrary-time" else None)


def check(s: Scheme, n: int, text: str, **values: int) -> None:
    """One ID, its fields and its text, each from the other."""
    assert s.pack(**values) == n
    assert dict(s.unpack(n)) == {**s.layout.fixed, **values}
    assert s.format(n) == text
    assert s.parse(text) == n


@pytest.mark.parametrize("case", cases("icicle"), ids=lambda case: case["id"])
def test_icicle(case: dict[str, Any]) -> None:
    s = scheme()
    ticks = case["time_ms"] - 1455788600316
    check(s, case["id"], str(case["id"]), time=ticks, node=case["shard"], sequence=case["sequence"])
    assert s.unpack(case["id"]).moment_us == case["time_ms"] * 1000
    seconds, us = case["redis_time"]
    assert s.layout.tick_at(seconds * 1_000_000 + us) == ticks


@pytest.mark.parametrize("case", cases("uniqueid"), ids=lambda case: case["hex"])
def test_uniqueid(case: dict[str, Any]) -> None:
    spread = case["mode"] == "SPREAD"
    s = scheme("uniqueid-spread" if spread else "uniqueid-sequential")
    values = {
        "time": case["timestamp_ms"],
        "sequence": case["sequence"],
        "node": case["generator"],
        "cluster": case["cluster"],
    }
    n = int(case["hex"], 16)
    check(s, n, case["hex"], **values)
    assert s.codec.to_bytes(n) == bytes.fromhex(case["hex"])
    of_cluster = scheme(s, fields={"cluster": values.pop("cluster")})
    check(of_cluster, n, case["hex"], **values)
    assert of_cluster.unpack(n).foreign == ()


@pytest.mark.parametrize("case", cases("chibrary"), ids=lambda case: case["call_number"])
def test_chibrary(case: dict[str, Any]) -> None:
    s = scheme("chibrary")
    values = {name: case[name] for name in ("version", "run", "sequence")}
    check(s, case["shuffled"], case["call_number"], **values)
    assert s.shuffle is not None
    assert s.shuffle.apply(case["unshuffled"]) == case["shuffled"]
    assert s.shuffle.invert(case["shuffled"]) == case["unshuffled"]
    assert s.layout.pack(**values) == case["unshuffled"]
    mine = s.with_fields(version=case["version"])
    assert mine.pack(run=case["run"], sequence=case["sequence"]) == case["shuffled"]


@pytest.mark.parametrize("key", ["cases", "cases_128"])
def test_globalid(key: str) -> None:
    for case in cases("globalid", key):
        n = int(case["id"])
        values = {"node": case["node"], "time": case["time_ms"], "sequence": case["sequence"]}
        wide = key == "cases_128"
        s = scheme("globalid-128" if wide else "globalid")
        check(s, n, f"{n:032x}" if wide else str(n), **values)


def test_known_ids() -> None:
    known = {case["scheme"]: case for case in cases("known")}
    discord, instagram = known["discord"], known["instagram"]
    s = scheme("discord")
    read = s.unpack(discord["id"])
    assert read.moment == datetime.fromisoformat(discord["time"])
    assert (read["worker"], read["process"], read["sequence"]) == (1, 0, 7)
    assert read["node"] == 1 << 5
    check(s, discord["id"], str(discord["id"]), **read)
    check(
        scheme("instagram"),
        instagram["id"],
        str(instagram["id"]),
        time=instagram["fields"]["time_ms_since_epoch"],
        node=instagram["fields"]["node"],
        sequence=instagram["fields"]["sequence"],
    )


# IDs in databases have these: for each preset the fingerprint of its numbers, and its last text.
STORED = {
    "icicle": ("4f028bbbfe59cca5", "9223372036854775807"),
    "snowflake": ("4e0270d88c104746", "9223372036854775807"),
    "discord": ("d5e09a7e1a45bb54", "18446744073709551615"),
    "instagram": ("bfd319001ca7110c", "18446744073709551615"),
    "sonyflake": ("19e8835a58be35fb", "9223372036854775807"),
    "tsid": ("0f4dc0c2ef6271b8", "FZZZZZZZZZZZZ"),
    "globalid": ("3d1df5efc27d8400", "18446744073709551615"),
    "globalid-128": ("e04dfc75769c6538", "00000fffffffffffffffffffffffffff"),
    "uniqueid-spread": ("5755ffa9434454ec", "ffffffffffffeff0"),
    "uniqueid-sequential": ("65d17190b98eace0", "fffffffffffffff0"),
    "chibrary": ("8f69a671b9c168bf", "do3zjVZ1"),
    "chibrary-time": ("ab24a84e73c40be0", "4ziepp2F"),
    "chibrary-40": ("6bab4c04659ea1c8", "JMAIjoV"),
    "js53": ("93a5f81b14e462af", "9007199254740991"),
    "tickets": ("5feb9dc356756945", "9223372036854775807"),
    "uuid7": ("aae69ebcc5f6537d", "ffffffff-ffff-7fff-bfff-ffffffffffff"),
    "uuid8": ("2564f28f34bd09cf", "ffffffff-ffff-8fff-bfff-ffffffffffff"),
}


def test_the_table_of_presets() -> None:
    assert names() == tuple(PRESETS)
    assert {
        name: (preset(name).fingerprint, preset(name).format(preset(name).id_max))
        for name in names()
    } == STORED


@pytest.mark.parametrize("name", PRESETS)
def test_any_preset_can_be_shuffled_and_keeps_its_meaning(name: str) -> None:
    plain = preset(name)
    shuffled = scheme(plain, shuffle="seed:v1:hello")
    assert shuffled.shuffle == Shuffle.from_seed("hello", plain.bits)
    limits = {field.name: field.limit for field in plain.layout.fields}
    for values in (limits, dict.fromkeys(limits, 0), {**limits, "sequence": 5}):
        n = shuffled.pack(**values)
        assert dict(shuffled.unpack(n)) == values
        assert shuffled.parse(shuffled.format(n)) == n
    assert shuffled.pack(**{**limits, "sequence": 5}) != plain.pack(**{**limits, "sequence": 5})
    for n in (-1, 1 << plain.bits):
        for s in (plain, shuffled):
            with pytest.raises(LayoutError):
                s.unpack(n)
            with pytest.raises(CodecError):
                s.format(n)


def test_the_fingerprint_covers_the_numbers_and_not_their_text() -> None:
    plain = scheme("uniqueid-spread")
    assert plain.fingerprint == scheme(plain, encoding="base62", prefix="a_").fingerprint
    different = {
        plain.fingerprint,
        scheme("uniqueid-sequential").fingerprint,
        plain.with_fields(cluster=1).fingerprint,
        plain.with_epoch(1).fingerprint,
        scheme(plain, shuffle="seed:v1:a").fingerprint,
        scheme(plain, shuffle="seed:v1:b").fingerprint,
        scheme(plain, shuffle="seed:v1:b", fields={"cluster": 1}).fingerprint,
    }
    assert len(different) == 7


def test_with_fields_and_with_epoch() -> None:
    s = scheme("uniqueid-spread", fields={"cluster": 3})
    assert s == scheme("uniqueid-spread").with_fields(cluster=3)
    assert s.pack(time=0, sequence=0, node=0) == 3
    assert s.with_epoch(5_000).unpack(3).moment_us == 5_000
    with pytest.raises(LayoutError):
        scheme("uniqueid-spread", fields={"cluster": 16})
    with pytest.raises(LayoutError):
        scheme("icicle", fields={"cluster": 3})


@pytest.mark.parametrize(
    "epoch",
    [
        1735689600_000_000,
        "2025-01-01",
        "2025-01-01T00:00:00Z",
        "2025-01-01T01:00:00+01:00",
        datetime(2025, 1, 1, tzinfo=UTC),
        datetime(2025, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_epochs(epoch: datetime | str | int) -> None:
    s = scheme("chibrary-time", epoch=epoch)
    assert s.layout.epoch_us == 1735689600_000_000


def test_an_open_epoch_must_be_chosen() -> None:
    for spec in ("chibrary-time", PRESETS["chibrary-time"].layout):
        with pytest.raises(ConfigError, match="epoch="):
            scheme(spec)
    with pytest.raises(LayoutError):
        scheme("chibrary", epoch=0)


def test_an_unknown_name_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigError) as error:
        scheme("iciclee")
    assert "did you mean 'icicle'?" in str(error.value)
    assert all(name in str(error.value) for name in names())
    with pytest.raises(ConfigError) as error:
        scheme("q" * 100_000)
    assert "did you mean" not in str(error.value)
    assert len(str(error.value)) < 1000
    with pytest.raises(ConfigError, match="int"):
        scheme(5)  # type: ignore[arg-type]
    with pytest.raises(LayoutError):
        scheme("time:")


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": ""},
        {"shuffle": "hello"},
        {"shuffle": "table:1,0"},
        {"shuffle": Shuffle((1, 0))},
    ],
    ids=repr,
)
def test_arguments_that_do_not_fit_the_layout(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        scheme("icicle", **options)


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "chibrary-time"])
def test_a_value_from_outside_is_read(name: str) -> None:
    s = scheme(name)
    for n in (0, s.id_max) if not any(s.layout.fixed.values()) else (s.id_max,):
        assert s.read(n) == s.read(s.format(n)) == n
        assert re.match(s.pattern, s.format(n))
    assert s.signed_safe == (s.id_max < 1 << 63)


@pytest.mark.parametrize(
    ("encoding", "prefix", "check"),
    [("decimal", "order_", False), ("base62", "order_", False), ("base32", "", True)],
)
def test_the_pattern_matches_what_is_written(encoding: str, prefix: str, check: bool) -> None:
    s = scheme("icicle", encoding=encoding, prefix=prefix, check=check)
    for n in (0, 1, 36, 12345, s.id_max):
        assert re.match(s.pattern, s.format(n))
        assert not re.match(s.pattern, s.format(n) + "0" * 20)
        assert not re.match(s.pattern, " " + s.format(n))


def test_a_field_that_is_not_there() -> None:
    with pytest.raises(LayoutError, match="has no time; its fields are sign, sequence"):
        scheme("tickets").segments("time")


@pytest.mark.parametrize("version", [7, 8])
def test_uuids(version: int) -> None:
    s = scheme(f"uuid{version}")
    n = s.pack(time=1645557742000, sequence=0x3FFFFFE, node=0x0102030405AB)
    made = s.uuid(n)
    assert (made.version, made.variant) == (version, "specified in RFC 4122")
    assert str(made) == s.format(n)
    assert s.read(made) == s.read(str(made)) == n
    assert str(made)[14:] == f"{version}fff-bffe-0102030405ab"
    assert s.unpack(n).moment == datetime(2022, 2, 22, 19, 22, 22, tzinfo=UTC)


def test_a_uuid7_begins_with_the_time_of_the_rfc() -> None:
    """The example of RFC 9562, appendix A.6."""
    example = UUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
    s = scheme("uuid7")
    n = s.read(example)
    assert s.unpack(n).moment_us == 1645557742000_000
    assert s.window(1645557742000_000, 1645557742001_000).start <= n
    with pytest.raises(CodecError, match="version"):
        scheme("uuid8").read(example)
