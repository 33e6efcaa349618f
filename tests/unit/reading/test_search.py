"""IDs in a line of a log are found, and nothing else in it is taken for one."""

from datetime import UTC, datetime

from frazil.reading.search import Search
from frazil.schemes.scheme import scheme
from frazil.system.clock import to_us

NOW_US = to_us(datetime(2026, 7, 10, 12, tzinfo=UTC))
NOISE = (
    "2026-07-10T12:00:00.123Z INFO web-7 [4bf92f3577b34da6] 10.0.0.12:8080 application connection1 "
    "authorization ts=1783680000 ms=1783680000123 us=1783680000123456 took=12.5ms "
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
)


def made(name: str = "icicle", ago_s: int = 60, sequence: int = 0, **options: str) -> str:
    s = scheme(name, **options)
    tick = s.layout.tick_at(NOW_US - ago_s * 1_000_000)
    return s.format(s.pack(time=tick, node=1, sequence=sequence))


def found(search: Search, line: str) -> list[str]:
    return [finding.fits[0].reading.text for finding in search.find(line)]


def test_noise_contains_no_id():
    assert found(Search(scheme(), NOW_US), NOISE) == []
    assert found(Search(scheme(), NOW_US, guess=True), NOISE) == []


def test_old_id_of_the_scheme_is_found_in_noise():
    text = made(ago_s=9 * 365 * 86_400)
    assert found(Search(scheme(), NOW_US), f"{NOISE} id={text}") == [text]


def test_other_schemes_are_found_when_the_default_is_not_there():
    text = made("tsid", prefix="order_")
    (finding,) = Search(scheme(), NOW_US).find(f"{NOISE} {text}")
    assert finding.guessed
    assert finding.fits[0].scheme.name == "tsid"
    assert found(Search(scheme(), NOW_US), f"{text} {made()}") == [text, made()]


def test_named_scheme_is_the_only_one():
    search = Search(scheme("tsid"), NOW_US, named=True)
    assert found(search, made("discord", ago_s=8 * 365 * 86_400, sequence=3000) + " x") == []
    assert found(search, f"{NOISE} {made('tsid')}") == [made("tsid")]
