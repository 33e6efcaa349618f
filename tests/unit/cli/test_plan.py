"""``frazil plan`` shows known figures of every scheme."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from frazil.layout.layout import Layout
from frazil.reading.capacity import Plan, span_text
from frazil.schemes.scheme import names


def planned(call, *args):
    result = call("plan", *args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_icicle(call):
    (plan,) = planned(call, "icicle")
    assert plan["bits"] == 64
    assert plan["exhausted"] == "2085-10-25T01:30:55.868Z"
    assert plan["years"] == 69.7
    assert 0 < plan["years_left"] < 69.7
    assert (plan["nodes"], plan["ids_per_node"]) == (1024, 4096)
    assert plan["ids_per_second"] == 4_096_000
    assert plan["ids_per_second_in_all"] == 1024 * 4_096_000
    assert plan["highest"] == str((1 << 63) - 1)
    assert (plan["javascript_safe"], plan["bigint_safe"]) == (False, True)
    assert plan["sorted_by_time"] is True
    assert plan["characters"] == {
        "decimal": 19, "hex": 16, "base32": 13, "base58": 11, "base62": 11,
    }  # fmt: skip


def test_every_scheme_is_compared(call):
    plans = {plan["scheme"]: plan for plan in planned(call)}
    assert tuple(plans) == names()
    safe = {name for name, plan in plans.items() if plan["javascript_safe"]}
    assert safe == {"chibrary", "chibrary-time", "chibrary-40", "js53"}
    wide = {name for name, plan in plans.items() if not plan["bigint_safe"]}
    assert wide == {
        "discord", "instagram", "tsid", "globalid", "globalid-128", "uniqueid-spread",
        "uniqueid-sequential", "uuid7", "uuid8",
    }  # fmt: skip
    unsorted = {name for name, plan in plans.items() if not plan["sorted_by_time"]}
    assert unsorted == {
        "globalid", "globalid-128", "uniqueid-spread", "chibrary", "chibrary-40", "tickets",
        "uuid8",
    }  # fmt: skip
    assert plans["chibrary-time"]["exhausted"] is None
    assert plans["chibrary-time"]["years"] == 136.1
    assert plans["chibrary"]["ids_per_second"] is None


def test_comparison_fits_80_columns(call):
    text = call("plan").stdout
    assert max(map(len, text.splitlines())) <= 80
    rows = text.splitlines()[2 : 2 + len(names())]
    assert [row.split()[0] for row in rows] == list(names())
    assert rows[0].split() == ["icicle", "64", "2085", "1,024", "4.1", "M", "no", "yes", "time",
                               "decimal", "19"]  # fmt: skip


def test_one_layout_is_drawn(call):
    text = call("plan", "icicle").stdout
    assert "│ sign │ time " in text
    assert "until 2085-10-25, " in text
    assert "4,096 per 1ms" in text
    assert "IDs as text" in text
    assert max(map(len, text.splitlines())) <= 80


def test_two_layouts_are_side_by_side(call):
    layout = "time:42 node:8 sequence:14 @1ms since 2025-01-01"
    text = call("plan", "tsid", layout).stdout
    assert text.split()[:3] == ["tsid", "layout", "1"]
    assert "layout 1: time:42 node:8 sequence:14 @1ms since 2025-01-01T00:00:00Z" in text
    assert "16,384 per" in text


def test_words_without_quotes_are_one_layout(call):
    words = "time:42 node:8 sequence:14 @1ms since 2025-01-01"
    (bare,), (quoted,) = planned(call, *words.split()), planned(call, words)
    assert bare.pop("left_s") - quoted.pop("left_s") < 60
    assert bare == quoted


def test_epoch(call):
    (plan,) = planned(call, "js53", "--epoch", "2026-01-01")
    assert plan["layout"].endswith("since 2026-01-01T00:00:00Z")
    (plan,) = planned(call, "chibrary-time", "--epoch", "2020-01-01")
    assert plan["exhausted"] == "2156-02-07T06:28:16Z"
    assert planned(call, "tickets", "--epoch", "2020-01-01") == planned(call, "tickets")


SHORT = "time:20 node:10 sequence:12 @1ms since 2025-01-01"


def test_layout_of_minutes(call):
    """Its lifetime is not rounded to 0, and its end has a time of day."""
    told = " ".join(call("plan", SHORT).stdout.split())
    assert "ended on 2025-01-01T00:17:28.576Z, " in told
    assert "ago, after 17.5 minutes" in told
    (plan,) = planned(call, SHORT)
    assert plan["lasts_s"] == 1048.576
    assert plan["left_s"] < -1000
    assert plan["years"] > 0


def test_remaining_and_total_lifetime_are_shown(call):
    told = call("plan", "icicle").stdout
    assert re.search(r"until 2085-10-25, \d\d(\.\d)? of 69.7 years left", told)
    young = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()
    told = " ".join(call("plan", SHORT, "--epoch", young).stdout.split())
    assert re.search(r", 12\.\d of 17.5 minutes left", told)
    (plan,) = planned(call, "icicle")
    assert plan["lasts_s"] == (1 << 41) / 1000
    assert 0 < plan["left_s"] < plan["lasts_s"]


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (0, "0 seconds"),
        (500_000, "0.5 seconds"),
        (1_000_000, "1 second"),
        (1_048_576_000, "17.5 minutes"),
        (86_400_000_000, "1 day"),
        (31_556_952_000_000, "1 year"),
        (2_199_023_255_552_000, "69.7 years"),
        (1 << 63, "292,277 years"),
    ],
)
def test_text_of_a_time_span(us, words):
    assert span_text(us) == words


NEED = "--nodes", "2", "--rate", "5"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["icycle"], "did you mean 'icicle'?"),
        (["time:42 sequence:12 @1ms since 2025-01-01", "--bits", "64"], "54 bits"),
        (["time:42"], "no tick"),
        (["js53", "--epoch", "tomorrow"], "is not a moment"),
        (["js53", "--bits", "129"], "--bits"),
        (["--nodes", "200"], "need each other"),
        ([*NEED, "--until", "2060", "icicle"], "; omit the layout"),
        ([*NEED, "--until", "2060", "--bits", "53"], "; omit --bits"),
        ([*NEED, "--until", "1999"], "1999 is outside"),
    ],
)
def test_wrong_call(args, words, call):
    result = call("plan", *args)
    assert result.exit_code == 2
    assert words in result.output


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("time:42~ node:10 sequence:12 @1ms since 2020-01-01", "reversed"),
        ("node:10 time:42 sequence:12 @1ms since ?", "node is above"),
        ("sequence:40", "no time"),
        ("zero:3=5 time:42 node:4 @1s since ?", ""),
    ],
)
def test_reason_for_no_time_order(text, reason):
    plan = Plan("x", Layout.parse(text))
    assert reason in plan.unsorted
    assert bool(plan.unsorted) == bool(reason)


def test_a_fleet(call):
    shown = call("plan", "icicle", "sonyflake", "--registry", "redis://a,b").output
    assert re.search(r"processes +512 ", shown)
    assert re.search(r"bound by +node numbers +renewals", shown)
    assert "redis, 2 servers, horizon 5 s." in shown
    (plan,) = planned(call, "icicle", "--registry", "etcd://db?horizon=10s")
    assert plan["nodes"] == 1024
    assert plan["fleet"]["bound_by"] == "renewals"
    assert plan["fleet"]["horizon_s"] == 10


def test_a_fleet_of_every_scheme_with_time(call):
    shown = call("plan", "--registry", "icicle://a,b,c").output
    assert re.search(r"icicle +no limit", shown)
    assert "tickets" not in shown


def test_a_fleet_that_cannot_be_planned(call):
    assert call("plan", "tickets", "--registry", "redis:").exit_code == 2
    assert call("plan", "icicle", "--registry", "memory:").exit_code == 2


def test_a_need_is_answered_by_layouts(call):
    need = ("--nodes", "200", "--rate", "5000", "--until", "2060")
    wide, narrow, uuid = planned(call, *need)
    assert (wide["scheme"], narrow["bits"], uuid["scheme"]) == ("icicle", 53, "uuid7")
    shown = call("plan", *need).stdout
    assert narrow["layout"] in shown
    assert 'Take the first one:\n  frazil init --namespace orders --scheme "icicle"' in shown
    assert "18.9 Y IDs/s" in call("plan", "uuid7").stdout
    assert "years left" in " ".join(shown.split())
    assert "Take" not in call("plan", *need, "--markdown").stdout


def test_a_need_beyond_64_bits_is_answered_by_a_uuid(call):
    need = ("--nodes", "1000000", "--rate", "1000000", "--until", "2200")
    (uuid,) = planned(call, *need)
    assert (uuid["scheme"], uuid["nodes"]) == ("uuid7", 1 << 48)
    shown = call("plan", *need).stdout
    assert "67.1 G IDs/s" in shown
    assert 'Take it:\n  frazil init --namespace orders --scheme "uuid7"' in shown
    beyond = ("--nodes", "3000000", "--rate", "1e11", "--until", "9999")
    (wide,) = planned(call, *beyond)
    shown = call("plan", *beyond).stdout
    assert f"A UUID column holds IDs of {wide['bits']} bits." in " ".join(shown.split())


@pytest.mark.parametrize(
    ("nodes", "url", "words"),
    [
        ("6000", "redis://a", "6,000 processes are needed, and 5,000 are planned, "),
        ("1000", "redis://a", "bound by node numbers. A restart of all needs two for each: plan "),
        ("500", "redis://a", None),
        ("6000", "redis://a,b,c", None),
    ],
)
def test_a_need_that_the_registry_misses(call, nodes, url, words):
    args = ("plan", "--nodes", nodes, "--rate", "4000", "--until", "2060", "--registry", url)
    shown = " ".join(call(*args).stdout.split())
    assert ("Not enough" in shown) == (words is not None)
    assert words is None or words in shown
    assert f"frazil init {url} --namespace orders --scheme" in shown


def test_the_password_of_a_registry_is_not_shown(call):
    url = "redis://:secret@a"
    args = ("plan", "--nodes", "9", "--rate", "9", "--until", "2060", "--registry", url)
    assert "secret" not in call(*args).output


def test_a_drawing_of_a_layout(call, tmp_path):
    picture = tmp_path / "tsid.svg"
    shown = call("plan", "tsid", "--svg", str(picture))
    assert "sorted by time" in shown.stdout
    assert shown.stderr == f"the drawing is in {picture}\n"
    text = picture.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "Layout of 64 bits" in text
    refused = call("plan", "tsid", "icicle", "--svg", str(picture))
    assert (refused.exit_code, "name one" in refused.output) == (2, True)


def test_a_drawing_that_cannot_be_written(call, tmp_path):
    refused = call("plan", "tsid", "--svg", str(tmp_path))
    assert refused.exit_code == 2
    assert refused.stderr.endswith("Is a directory; name another file\n")
