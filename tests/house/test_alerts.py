"""The alert rules fit the metrics and the pages."""

import re
from pathlib import Path

import pytest
import yaml

from frazil.metrics import COUNTERS, GAUGES

__all__: list[str] = []

ROOT = Path(__file__).resolve().parents[2]
RULES = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))
ALERTS = RULES["groups"][0]["rules"]
METRICS = {f"frazil_{one.name}_total" for one in COUNTERS.values()} | {
    f"frazil_{one.name}" for one in GAUGES.values()
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
