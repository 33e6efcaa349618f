"""``frazil bench``: the cost of an ID on this machine, with this scheme and this registry.

Published figures say little about another host, virtual machine or scheme. This takes a few seconds
and needs only frazil. It measures calls, lists and, with numpy, arrays. Each has a floor: the
cheapest Python code that makes as many objects of that size. Without a lead, a fast machine only
measures the layout's limit, so calls are measured without a lead and with the longest that the
registry allows. The generator with the lead runs for a while first, until its claims have grown.

Every ID is kept and compared with all others. A comparison with other packages takes many
interleaved rounds: run ``python -m evidence.benchmarks`` in the source tree.
"""

import json
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise, repeat
from typing import Any

import click

import frazil
from frazil.claims.claim import LastSeen
from frazil.cli._options import is_default, json_option, request_options
from frazil.cli.show import terminal
from frazil.errors import ConfigError, InternalError
from frazil.generator.local import open_request
from frazil.generator.request import OpenRequest
from frazil.generator.verb_requests import ask_of
from frazil.inputs.duration import duration_text
from frazil.schemes.scheme import Scheme

_CALLS = 1_000
_TAKE = 10_000
_ARRAY = 100_000
_LINE_COUNT_MAX = 200_000  # all IDs are kept and sorted at the end
_WARM_UP_S = 1.5


@dataclass(frozen=True)
class Line:
    """A measurement: ``ns`` for each of ``count`` objects, and its floor."""

    what: str
    count: int
    ns: float
    floor: "Line | None" = None

    @property
    def ratio(self) -> float | None:
        """The cost as a multiple of the floor's."""
        return self.ns / self.floor.ns if self.floor else None

    def as_json(self) -> dict[str, Any]:
        """The exact numbers."""
        return {
            "what": self.what,
            "count": self.count,
            "ns_each": self.ns,
            "floor": self.floor.what if self.floor else None,
            "ratio": self.ratio,
        }

    def as_row(self) -> tuple[str, ...]:
        """The rounded numbers, as cells of a table."""
        ratio = ""
        if self.floor and self.ratio:
            ratio = f"{self.ratio:,.{2 if self.ratio < 100 else 0}f} x {self.floor.what}"
        return self.what, f"{self.ns:,.1f}", f"{1e9 / self.ns:,.0f}", ratio


class _Bench:
    """Measures lines, each for about ``seconds``, and keeps the IDs."""

    def __init__(self, seconds: float) -> None:
        self._ns = int(seconds * 1e9)
        self.ids: list[int] = []

    def line(self, what: str, batch: Callable[[], Any], floor: Line | None = None) -> Line:
        """Repeat ``batch``, at least once, until the time or the count is reached.

        A line with a floor makes IDs, which are kept.
        """
        count = spent_ns = 0
        while count == 0 or (spent_ns < self._ns and count < _LINE_COUNT_MAX):
            before_ns = time.perf_counter_ns()
            made = batch()
            spent_ns += time.perf_counter_ns() - before_ns
            count += len(made)
            if floor is not None:
                self._keep(made)
        return Line(what, count, spent_ns / count, floor)

    def _keep(self, made: Any) -> None:
        if not isinstance(made, list):
            from frazil.schemes.arrays import ints

            made = ints(made)
        self.ids += made


@click.command
@partial(request_options, namespace="one for this command", with_text=False)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=0.5,
    show_default=True,
    metavar="S",
    help="The longest time for each line.",
)
@json_option
def command(*, request: OpenRequest, seconds: float, as_json: bool) -> None:
    """Measure the cost of an ID on this machine, and check that no ID repeats.

    The IDs are made in a separate namespace, unless you name one; a scheme without time uses up
    its numbers. On a busy machine, only the last column is meaningful.

    \b
      frazil bench
      frazil bench --scheme uniqueid-spread --json
      frazil bench --url static:7 --seconds 2
    """
    if request.url.opened_by.maker == "icicle":
        raise ConfigError(
            "cannot measure icicle:, whose servers make the IDs; in a checkout, run "
            "python -m evidence.benchmarks.icicle"
        )
    if is_default("namespace"):
        request = _in_own_namespace(request)
    bench = _Bench(seconds)
    lines = list(_measure(bench, request))
    check_unique(bench.ids)
    setting = {
        "scheme": request.scheme.name,
        "layout": str(request.scheme.layout),
        "url": str(request.url),
        "namespace": request.namespace,
        "frazil": f"{frazil.__version__}, {'compiled' if frazil.COMPILED else 'interpreted'}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    if as_json:
        rows = [line.as_json() for line in lines]
        click.echo(json.dumps({**setting, "unique": len(bench.ids), "lines": rows}, indent=1))
        return
    from rich.console import Group

    right = ("ns each", "per second", "relative to floor")
    table = terminal.Rows("", *right, right=right)
    for line in lines:
        table.add_row(*line.as_row())
    total = f"\n{terminal.counted(len(bench.ids), 'ID')} made, no duplicates"
    terminal.echo(Group(terminal.Facts(setting.items()), "", table, total))


def _in_own_namespace(request: OpenRequest) -> OpenRequest:
    """The request, with a namespace whose IDs are not kept, so it is always set up as new."""
    own = replace(request, namespace=f"bench-{request.scheme.fingerprint[:8]}")
    with suppress(ConfigError):  # it exists
        own.connect().initialise(ask_of(LastSeen()), 0)
    return own


def check_unique(ids: list[int]) -> None:
    """Raise InternalError if an ID occurs twice."""
    duplicates = [one for one, other in pairwise(sorted(ids)) if one == other]
    if duplicates:
        raise InternalError(
            f"{len(duplicates):,} of {len(ids):,} IDs repeat, the first is {duplicates[0]}; "
            "please report this, with the scheme and the registry"
        )


def _measure(bench: _Bench, request: OpenRequest) -> Iterator[Line]:
    """The lines, each after its floor."""
    terms = request.connect().terms
    lead_us = terms.horizon_ticks * terms.tick_us if terms.timed else 0
    calls, take, array = _sizes(request.scheme, terms.horizon_ticks)
    limit = request.scheme.layout.ids_per_second

    single = bench.line("object()", lambda: [object() for _ in repeat(None, calls)])
    yield single
    with open_request(request) as ids:
        first = ids()
        floor = single
        if limit and limit < 1e9 / single.ns:
            floor = Line("the layout's limit", 0, 1e9 / limit)
            yield floor
        yield bench.line("ids()", lambda: [ids() for _ in repeat(None, calls)], floor)
    with open_request(replace(request, lead_us=lead_us)) as early:
        if limit:
            until_s = time.monotonic() + _WARM_UP_S
            while time.monotonic() < until_s:
                early()
                time.sleep(0.005)
            what = f"ids(), lead {duration_text(lead_us)}"
            yield bench.line(what, lambda: [early() for _ in repeat(None, calls)], single)
        numbers = range(first, first + take)
        floor = bench.line("list(range)", lambda: list(numbers))
        yield floor
        yield bench.line(f"ids.take({take})", lambda: early.take(take), floor)
        if find_spec("numpy"):
            import numpy as np

            floor = bench.line("numpy.arange", lambda: np.arange(array, dtype=np.uint64))
            yield floor
            yield bench.line(f"ids.array({array})", lambda: early.array(array), floor)


def _sizes(scheme: Scheme, horizon_ticks: int) -> tuple[int, int, int]:
    """The batch sizes of calls, take and array; in slow layouts, what a lead allows."""
    layout = scheme.layout
    if layout.axis != "time":
        return _CALLS, _TAKE, _ARRAY
    lead_ids = layout.sequences * horizon_ticks
    return min(_CALLS, layout.sequences), min(_TAKE, lead_ids), min(_ARRAY, lead_ids)
