"""Each alert fires from the metrics that its fault makes, of the service and of a program.

The fault happens to a real store. What the service and the generators of this process then show is
read once before the fault and once during it, and Prometheus evaluates the rules on these values.
"""

import json
import re
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

import frazil
from frazil.errors import FrazilError
from tests.needs import needs
from tests.servers.icicle import Caller
from tests.servers.redis import Server, until
from tests.tools.alerts import ALERTS, check, sample

USED = {name for alert in ALERTS for name in re.findall(r"frazil_\w+", alert["expr"])}
DURING, END = 2, 60  # samples, one each 15 s


class Watched:
    """A service and programs with their claims on one server; ``call`` makes calls of each."""

    def __init__(self, stack, start, server, *, scheme, **options):
        self.server = server
        self.name = f"watched{server.port}"
        frazil.init(server.url, scheme, namespace=self.name, new=True)
        url = f"{server.url}?timeout=200ms"
        values = {"registry": url, "scheme": scheme, "timeout": "200ms", **options}
        lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
        self.service = start("\n".join([f"[namespaces.{self.name}]", *lines]))
        given = {"namespace": self.name, "timeout": "200ms", **options}
        self.programs = [stack.enter_context(frazil.open(url, scheme, **given))]
        if scheme == "icicle":
            pool = url.replace("redis://", "icicle://")
            Caller(server, self.name).init()
            self.programs.append(stack.enter_context(frazil.open(pool, **given)))
        self._registry = CollectorRegistry()
        frazil.metrics.prometheus(self._registry)

    def call(self, times=1):
        for _ in range(times):
            self.service.client.get(f"/v1/{self.name}/id")
            for ids in self.programs:
                with suppress(FrazilError):
                    ids()

    def values(self):
        """Each value that an alert uses, by the labels of its series."""
        pages = [self.service.client.get("/metrics").text, generate_latest(self._registry).decode()]
        return {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for page in pages
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name in USED and sample.labels["namespace"] == self.name
        }

    def each(self, name):
        """The values of a metric, of the service and of each program."""
        return [value for (metric, _), value in self.values().items() if metric == name]


def away(watched):
    watched.server.kill()

    def seen():
        watched.call()
        return min(watched.each("frazil_registry_trouble_seconds")) > 10

    until(seen, "a store that is away for 10 s")


def short_fault(watched):
    before = watched.each("frazil_renew_failures_total")
    watched.server.freeze()

    def seen():
        watched.call()
        now = watched.each("frazil_renew_failures_total")
        return all(more > one for more, one in zip(now, before, strict=True))

    until(seen, "errors of the store")
    watched.server.thaw()
    until(lambda: watched.call() or not any(watched.each("frazil_registry_trouble_seconds")), "IDs")


def wrong_clock(watched):
    watched.server.step_clock(3600)
    before = watched.each("frazil_failures_total")

    def seen():
        watched.call()
        now = watched.each("frazil_failures_total")
        return all(more > one for more, one in zip(now, before, strict=True))

    until(seen, "calls that fail")


def ending():
    """A layout whose time field is full in a year."""
    epoch = datetime.now(UTC) + timedelta(days=365) - timedelta(milliseconds=2**40)
    return f"sign:1=0 time:40 node:10 sequence:13 @1ms since {epoch:%Y-%m-%d}"


FAULTS = {
    "the store is away": (away, {"FrazilStoreAway", "FrazilIdsRunOut", "FrazilCallsFail"}, {}),
    "the store has short faults": (short_fault, {"FrazilStoreErrors"}, {}),
    "the store's clock is wrong": (wrong_clock, {"FrazilNoClaim", "FrazilClockOffset"}, {}),
    "each call waits": (
        lambda watched: watched.call(30),
        {"FrazilWaits"},
        {"scheme": "sequence:64", "block": 1},
    ),
    "the layout ends in a year": (Watched.call, {"FrazilLayoutExhausted"}, {"scheme": ending()}),
}
# icicle: has no claims.
NOT_OF_ICICLE = {"frazil_claim_left_seconds", "FrazilIdsRunOut"}


def test_each_alert_has_its_fault():
    assert {name for _, names, _ in FAULTS.values() for name in names} == {
        alert["alert"] for alert in ALERTS
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fires_its_alerts(start, fault, tmp_path):
    needs("promtool", "the alert rules")
    begin, names, options = FAULTS[fault]
    with ExitStack() as stack:
        server = stack.enter_context(Server(faked=True))
        watched = Watched(stack, start, server, **{"scheme": "icicle", **options})
        watched.call()
        before = watched.values()
        begin(watched)
        during = watched.values()
    stores = {}
    for key, value in during.items():
        store = dict(key[1]).get("store", "service").partition(":")[0]
        stores.setdefault(store, {})[key] = series(key, before.get(key, value), value)
    assert set(stores) == {"service", "redis"} | set(() if options else ("icicle",))
    tests = []
    for store, shown in stores.items():
        left_out = NOT_OF_ICICLE if store == "icicle" else set()
        if not options:
            assert USED - {name for name, _ in shown} == left_out & USED
        firing = 'count(ALERTS{{alertname="{}",alertstate="firing"}})'
        expected = [sample(firing.format(name), 14, 1) for name in names - left_out]
        tests.append(([*shown.values()], expected))
    check(tmp_path, *tests)


def series(key, before, during):
    """A series with the value before the fault, and that of the fault, from which counts go on."""
    name, labels = key
    shown = ",".join(f'{label}="{text}"' for label, text in (*labels, ("instance", "a")))
    step = during - before if name.endswith("_total") else 0
    values = f"{before:f}x{DURING - 1} {during:f}+{step:f}x{END - DURING}"
    return {"series": f'{name}{{{shown},job="shop"}}', "values": values}
