"""IDs in a line of a log are found, and nothing else in it is taken for one."""

from datetime import UTC, datetime

import pytest

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


def test_a_named_scheme_reads_a_whole_text():
    search = Search(scheme(), NOW_US, named=True)
    (finding,) = search.find("1")
    assert "first week" in finding.fits[0].refused
    assert Search(scheme(), NOW_US).find("1")[0].fits[0].scheme.name == "tickets"


@pytest.mark.parametrize("name", ["tsid", "sonyflake", "discord", "uniqueid-spread"])
def test_far_more_likely_scheme_wins(name):
    (finding,) = Search(scheme(), NOW_US).find(made(name))
    assert finding.guessed
    assert finding.fits[0].scheme.name == name


def test_a_scheme_is_no_rival_of_itself():
    """A prefix makes another scheme of the same name."""
    search = Search(scheme("tsid", prefix="order_"), NOW_US)
    (finding,) = search.find(made("tsid", prefix="order_"))
    assert [fit.scheme.name for fit in finding.fits].count("tsid") == 1


@pytest.mark.parametrize(
    ("text", "sure", "words"),
    [
        ("2Vzn-WE2i", True, "\n     ^"),
        ("2Vzn-WE2i", False, "Nor is it an ID of another scheme"),
        ("no id here " * 20, False, "no ID was found in 'no id"),
        ("", False, "no ID was found in ''; name one, like frazil inspect 1425152293497475073"),
        ("18446744073709551615", False, "icicle: its sign is 1, not 0"),
    ],
)
def test_explanation(text, sure, words):
    search = Search(scheme(), NOW_US, named=sure)
    assert search.find(text) == []
    assert words in search.explain(text)
