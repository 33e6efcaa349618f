"""The schemes uuid7 and uuid8, as UUIDs."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from frazil.errors import CodecError
from frazil.schemes.scheme import scheme


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
