"""IDs of other systems, against the values that their makers publish."""

from uuid import UUID

import pytest

from frazil.reading.foreign import doubt_of, recognise, why_not
from frazil.reading.search import Search
from frazil.schemes.scheme import scheme
from frazil.system.clock import moment_text

NOW_US = 1_795_000_000_000_000

# RFC 9562, appendices A and B.
RFC = {
    "C232AB00-9414-11EC-B3C8-9F6BDECED846": ("UUIDv1", "2022-02-22T19:22:22Z"),
    "5df41881-3aed-3515-88a7-2f4a814cf09e": ("UUIDv3", None),
    "919108f7-52d1-4320-9bac-f847db4148a8": ("UUIDv4", None),
    "2ed6657d-e927-568b-95e1-2665a8aea6a2": ("UUIDv5", None),
    "1EC9414C-232A-6B00-B3C8-9F6BDECED846": ("UUIDv6", "2022-02-22T19:22:22Z"),
    "017F22E2-79B0-7CC3-98C4-DC0C0C07398F": ("UUIDv7", "2022-02-22T19:22:22Z"),
    "2489E9AD-2EE2-8E00-8EC9-32D5F69181C0": ("UUIDv8", None),
}


def facts(text: str) -> dict[str, str]:
    """The parts of an ID, by name, as they are shown."""
    found = recognise(text, NOW_US)
    assert found is not None
    assert "".join(digits for _, _, digits in found.spans) == f"{found.number:0{found.bits}b}"
    moment = "" if found.moment_us is None else moment_text(found.moment_us)
    parts = {part.name: part.text for part in found.parts}
    return {"format": found.format, "moment": moment, **parts}


@pytest.mark.parametrize("text", RFC)
def test_the_uuids_of_the_rfc(text: str) -> None:
    kind, moment = RFC[text]
    lower = text.lower()
    forms = [text, lower, f"{{{text}}}", f"urn:uuid:{lower}", lower.replace("-", "")]
    forms += [f"0x{lower.replace('-', '')}", f"\\x{lower.replace('-', '')}"]
    for form in forms:
        found = recognise(form, NOW_US)
        assert found is not None
        assert (found.format, found.number, found.canonical) == (kind, UUID(text).int, lower)
        shown = None if found.moment_us is None else moment_text(found.moment_us)
        assert shown == moment
        assert found.texts["uuid"] == lower
        assert bool(found.note) == (moment is None)


def test_the_parts_of_the_rfc() -> None:
    assert facts("C232AB00-9414-11EC-B3C8-9F6BDECED846") == {
        "format": "UUIDv1", "moment": "2022-02-22T19:22:22Z", "time_low": str(0xC232AB00),
        "time_mid": str(0x9414), "version": "1", "time_high": str(0x1EC), "variant": "2",
        "clock_seq": str(0x33C8), "node": "9f6bdeced846",
    }  # fmt: skip
    v6 = facts("1EC9414C-232A-6B00-B3C8-9F6BDECED846")
    assert (v6["clock_seq"], v6["node"]) == (str(0x33C8), "9f6bdeced846")
    v7 = facts("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
    assert (v7["unix_ts_ms"], v7["rand_a"]) == (str(0x017F22E279B0), "cc3")
    assert v7["rand_b"] == "18c4dc0c0c07398f"


@pytest.mark.parametrize("text", ["01ARYZ6S41TSV4RRFFQ69G5FAV", "01aryz6s41tsv4rrffq69g5fav"])
def test_ulid(text: str) -> None:
    """The time of ulid/javascript's tests."""
    found = facts(text)
    assert (found["format"], found["time"]) == ("ULID", "1469918176385")
    assert found["moment"] == "2016-07-30T22:36:16.385Z"
    ulid = recognise(text, NOW_US)
    assert ulid is not None
    again = recognise(ulid.texts["hex"], NOW_US)
    assert again is not None
    assert again.number == ulid.number


@pytest.mark.parametrize(
    ("text", "raw", "second", "payload"),
    [
        ("0ujtsYcgvSTl8PAuAdqWYSMnLOv", "0669F7EFB5A1CD34B5F99D1154FB6853345C9735", 107608047,
         "b5a1cd34b5f99d1154fb6853345c9735"),
        ("0ujzPyRiIAffKhBux4PvQdDqMHY", "066A029C73FC1AA3B2446246D6E89FCD909E8FE8", 107610780,
         "73fc1aa3b2446246d6e89fcd909e8fe8"),
    ],
)  # fmt: skip
def test_ksuid(text: str, raw: str, second: int, payload: str) -> None:
    for form in (text, raw, raw.lower()):
        found = facts(form)
        assert (found["format"], found["timestamp"]) == ("KSUID", str(second))
        assert found["payload"] == payload
    read = recognise(raw, NOW_US)
    assert read is not None
    assert read.canonical == text
    assert found["moment"].startswith("2017-10-10T04:")


def test_the_largest_ksuid() -> None:
    assert facts("aWgEPTl1tmebfsQzFP4bxwgy80V")["payload"] == "f" * 32
    assert recognise("aWgEPTl1tmebfsQzFP4bxwgy80W", NOW_US) is None
    assert "larger than aWgEPTl1" in why_not("aWgEPTl1tmebfsQzFP4bxwgy80W")


def test_xid() -> None:
    """The values of rs/xid's tests."""
    assert facts("9m4e2mr0ui3e8a215n4g") == {
        "format": "xid", "moment": "2011-03-22T17:50:19Z", "time": "1300816219",
        "machine": "60f486", "pid": str(0xE428), "counter": "4271561",
    }  # fmt: skip
    assert recognise("9M4E2MR0UI3E8A215N4G", NOW_US) is None
    assert recognise("98446744073709551610", NOW_US) is None
    assert recognise("c6e52g2mrqcjl44hf179", NOW_US) is None
    assert "'9'" in why_not("c6e52g2mrqcjl44hf179")


def test_objectid() -> None:
    """The example of MongoDB's manual, and the times of the specification."""
    assert facts("507c7f79bcf86cd7994f6c0e") == {
        "format": "ObjectId", "moment": "2012-10-15T21:26:17Z", "timestamp": "1350336377",
        "random": "bcf86cd799", "counter": str(0x4F6C0E),
    }  # fmt: skip
    rest = "0" * 16
    assert facts(f"00000000{rest}")["moment"] == "1970-01-01T00:00:00Z"
    assert facts(f"80000000{rest}")["moment"] == "2038-01-19T03:14:08Z"
    assert facts(f"FFFFFFFF{rest}")["moment"] == "2106-02-07T06:28:15Z"
    found = recognise("507c7f79bcf86cd7994f6c0e", NOW_US)
    assert found is not None
    assert found.others == ("xid",)


def test_typeid() -> None:
    """The UUIDv7 and the alphabet of the specification's list of valid ones."""
    found = recognise("prefix_01h455vb4pex5vsknk084sn02q", NOW_US)
    assert found is not None
    assert (found.format, found.prefix, found.note) == ("TypeID", "prefix_", "")
    assert found.texts["uuid"] == "01890a5d-ac96-774b-bcce-b302099a8057"
    assert found.canonical == "prefix_01h455vb4pex5vsknk084sn02q"
    other = "pre_fix_01h455vb4pex5vsknk084sn02q"
    assert recognise(other, NOW_US) is not None
    assert "TypeID" in why_not("prefix_81h455vb4pex5vsknk084sn02q")
    for capital in ("PREFIX_01h455vb4pex5vsknk084sn02q", "prefix_01H455VB4PEX5VSKNK084SN02Q"):
        said = Search(scheme(), NOW_US).explain(capital)
        assert said.endswith("no capitals; write prefix_01h455vb4pex5vsknk084sn02q")


@pytest.mark.parametrize(
    ("text", "uuid"),
    [
        ("prefix_00000000000000000000000000", UUID(int=0)),
        ("prefix_00000000000000000000000001", UUID(int=1)),
        ("prefix_0000000000000000000000000a", UUID(int=10)),
        ("prefix_0000000000000000000000000g", UUID(int=16)),
        ("prefix_00000000000000000000000010", UUID(int=32)),
        ("prefix_7zzzzzzzzzzzzzzzzzzzzzzzzz", UUID(int=(1 << 128) - 1)),
        ("prefix_0123456789abcdefghjkmnpqrs", UUID("0110c853-1d09-52d8-d73e-1194e95b5f19")),
        ("prefix_01h455vb4pex5vsknk084sn02q", UUID("01890a5d-ac96-774b-bcce-b302099a8057")),
        ("pre_fix_00000000000000000000000000", UUID(int=0)),
    ],
)
def test_valid_typeids(text: str, uuid: UUID) -> None:
    """Those of the specification, but the ones without a prefix: they are ULIDs in form."""
    found = recognise(text, NOW_US)
    assert found is not None
    assert (found.format, found.number) == ("TypeID", uuid.int)
    assert bool(found.note) == ("01h455" not in text)


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX_00000000000000000000000000",
        "12345_00000000000000000000000000",
        "pre.fix_00000000000000000000000000",
        "pr\N{LATIN SMALL LETTER E WITH ACUTE}fix_00000000000000000000000000",
        "pre fix_00000000000000000000000000",
        "a" * 64 + "_00000000000000000000000000",
        "_00000000000000000000000000",
        "_",
        "prefix_1234567890123456789012345",
        "prefix_123456789012345678901234567",
        "prefix_1234567890123456789012345 ",
        "prefix_0123456789ABCDEFGHJKMNPQRS",
        "prefix_123456789-123456789-123456",
        "prefix_ooooooiiiiiiuuuuuuulllllll",
        "prefix_i23456789ol23456789oi23456",
        "prefix_8zzzzzzzzzzzzzzzzzzzzzzzzz",
        "_prefix_00000000000000000000000000",
        "prefix__00000000000000000000000000",
        "",
    ],
)
def test_invalid_typeids(text: str) -> None:
    """Those of the specification, and one with a space in the prefix."""
    assert recognise(text, NOW_US) is None
    assert Search(scheme(), NOW_US).find(text) == []
    assert Search(scheme(), NOW_US).explain(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("00000000-0000-0000-0000-000000000000", "nil UUID"),
        ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "max UUID"),
        ("017f22e2-79b0-0cc3-98c4-dc0c0c07398f", "UUIDv0"),
        ("017f22e2-79b0-2cc3-98c4-dc0c0c07398f", "UUIDv2"),
        ("017f22e2-79b0-9cc3-98c4-dc0c0c07398f", "UUIDv9"),
        ("017f22e2-79b0-fcc3-98c4-dc0c0c07398f", "UUIDv15"),
        ("017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "UUID of Apollo NCS"),
        ("017f22e2-79b0-7cc3-78c4-dc0c0c07398f", "UUID of Apollo NCS"),
        ("017f22e2-79b0-7cc3-c8c4-dc0c0c07398f", "GUID of Microsoft COM"),
        ("017f22e2-79b0-7cc3-f8c4-dc0c0c07398f", "UUID of a reserved variant"),
    ],
)
def test_other_uuids(text: str, kind: str) -> None:
    """As a whole text; and none of them has a moment, since no document says where."""
    for form in (text, f"{{{text}}}", f"urn:uuid:{text}"):
        assert facts(form)["format"] == kind
        found = recognise(form, NOW_US)
        assert found is not None
        assert (found.moment_us, found.canonical) == (None, text.lower())
        assert found.note
    digits = text.replace("-", "")
    hexadecimal = recognise(digits, NOW_US)
    assert (hexadecimal is not None and "UUID" in hexadecimal.format) is (
        kind[:3] in {"nil", "max"} or kind == "UUIDv2"
    )


def test_an_implausible_date_is_doubted() -> None:
    found = recognise("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", NOW_US)
    assert found is not None
    assert "year 108" in doubt_of(found, NOW_US)
    known = recognise("507c7f79bcf86cd7994f6c0e", NOW_US)
    assert known is not None
    assert doubt_of(known, NOW_US) == ""


def test_a_uuid_of_frazil_is_told_from_one_with_random_bits() -> None:
    s = scheme("uuid7")
    ours = s.pack(time=NOW_US // 1000 - 5, sequence=3, node=12)
    [match] = Search(scheme(), NOW_US).find(str(s.uuid(ours)))
    assert match.foreign is None
    assert match.fits[0].scheme.name == "uuid7"
    theirs = s.pack(time=NOW_US // 1000 - 5, sequence=3, node=1 << 24)
    [match] = Search(scheme(), NOW_US).find(str(s.uuid(theirs)))
    assert match.foreign is not None
    assert match.foreign.format == "UUIDv7"
    [match] = Search(s, NOW_US, named=True).find(str(s.uuid(theirs)))
    assert match.foreign is None
