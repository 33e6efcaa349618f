"""The alert rules fit the metrics and the pages, and each fires for its fault and for no other."""

import re
from pathlib import Path

import pytest

from frazil.metrics import COUNTERS, GAUGES
from tests.tools.alerts import ALERTS, check, sample

ROOT = Path(__file__).resolve().parents[2]
METRICS = {f"frazil_{one.name}_total" for one in COUNTERS.values()} | {
    f"frazil_{one.name}" for one in GAUGES.values()
}
YEAR_S = 365 * 86400

# Series as a program shows them, a sample each 15 s: what is not named stays as in HEALTHY. The
# store is away from the 2nd minute to the 4th, as in `python -m evidence.benchmarks.incidents
# store`.
HEALTHY = {
    "failures_total": "0x60",
    "waits_total": "0+1x60",
    "renew_failures_total": "0x60",
    "claim_left_seconds": "4x60",
    "registry_trouble_seconds": "0x60",
    "clock_offset_seconds": "0x60",
    "exhaustion_seconds": f"{60 * YEAR_S}x60",
}
AWAY = {
    "failures_total": "0x8 20+20x8 180x43",
    "renew_failures_total": "0x8 1+10x7 71x44",
    "claim_left_seconds": "4x7 0x8 4x44",
    "registry_trouble_seconds": "0x7 5+15x7 0x44",
}
FAULTS = {
    "none": ({}, {}),
    "the store is away and comes back empty": (
        AWAY,
        {
            3: {"FrazilStoreAway", "FrazilIdsRunOut", "FrazilCallsFail"},
            5: {"FrazilCallsFail"},  # its cause, not a missing node number
            8: set(),
            14: set(),
        },
    ),
    "the store is away, and short faults follow": (
        AWAY | {"renew_failures_total": "0x8 1+10x7 71+1x44"},
        {5: {"FrazilCallsFail"}, 8: {"FrazilStoreErrors"}, 14: {"FrazilStoreErrors"}},
    ),
    "the store is away, and a long claim lasts": (
        {"registry_trouble_seconds": "0x7 5+15x40", "claim_left_seconds": "600x7 595-15x40"},
        {4: {"FrazilStoreAway"}, 8: {"FrazilStoreAway", "FrazilIdsRunOut"}},
    ),
    "no node number is free": (
        {"failures_total": "0+10x60", "claim_left_seconds": "0x60"},
        {5: {"FrazilNoClaim"}},
    ),
    "the store has short faults": ({"renew_failures_total": "0+1x60"}, {10: {"FrazilStoreErrors"}}),
    "each call waits": ({"waits_total": "0+150x60"}, {5: set(), 14: {"FrazilWaits"}}),
    "the host's clock is behind": (
        {"clock_offset_seconds": "-60x60"},
        {1: set(), 4: {"FrazilClockOffset"}},
    ),
    "the store's clock is an hour ahead": (
        {
            "failures_total": "0+10x60",
            "claim_left_seconds": "0x60",
            "clock_offset_seconds": "-3600x60",
        },
        {4: {"FrazilNoClaim", "FrazilClockOffset"}},
    ),
    "the layout ends in a year": (
        {"exhaustion_seconds": f"{YEAR_S}x60"},
        {1: {"FrazilLayoutExhausted"}},
    ),
}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert(alert):
    used = set(re.findall(r"frazil_\w+", alert["expr"]))
    assert used
    assert used <= METRICS
    page = ROOT / alert["annotations"]["runbook_url"].partition("/main/")[2]
    assert f"`{alert['alert']}`" in page.read_text(encoding="utf-8")
    assert alert["labels"]["severity"] in ("warning", "critical")


def test_each_page_of_an_alarm_is_in_the_site():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs" / "how-to" / "alarms").glob("*.md"))
    assert [page for page in pages if f"how-to/alarms/{page.name}" not in nav] == []


def test_each_alert_has_its_fault():
    fired = {name for _, moments in FAULTS.values() for names in moments.values() for name in names}
    assert fired == {alert["alert"] for alert in ALERTS}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fires_its_alerts_and_no_other(fault, tmp_path):
    """Prometheus evaluates the rules on the series of a fault."""
    changed, moments = FAULTS[fault]
    labels = '{namespace="orders",scheme="icicle",store="redis://ids",instance="a",job="shop"}'
    series = [
        {"series": f"frazil_{name}{labels}", "values": values}
        for name, values in (HEALTHY | changed).items()
    ]
    asked = 'count(ALERTS{{alertstate="firing",alertname="{}"}}) or vector(0)'
    expected = [
        sample(asked.format(alert["alert"]), minute, int(alert["alert"] in names))
        for minute, names in (moments or {2: set(), 14: set()}).items()
        for alert in ALERTS
    ]
    check(tmp_path, (series, expected))
