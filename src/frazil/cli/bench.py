"""``frazil bench``: what an ID costs on this machine, with this scheme and this registry.

A table of somebody else's nanoseconds says little about a host, a virtual machine or a scheme of
one's own. This takes a few seconds and needs nothing but frazil: calls, lists and, with numpy,
arrays, each beside its floor, which is the cheapest Python that makes as many objects of that
size. Without a lead a fast machine only measures the layout's own limit, so calls are measured
without and with one, the greatest that the registry allows. The generator with the lead has been in
use for a while before it is measured: claims grow with use, and growing is not what is measured.

Fast and wrong is not fast: every ID made is kept and compared with all the others. A comparison
with other packages takes many interleaved rounds: ``python -m benchmarks``, in the source.
"""

import json
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise, repeat
from typing import Any

import click

import frazil
from frazil.claims.claim import LastSeen
from frazil.cli._options import is_default, json_option, registry_options, scheme_options
from frazil.cli.show import terminal
from frazil.errors import ConfigError, InternalError
from frazil.generator.keeper import ask_of
from frazil.inputs.duration import duration_text
from frazil.inputs.url import parse_url
from frazil.registries import connect
from frazil.schemes.scheme import Scheme

__all__ = ["Line", "check_unique", "command"]

_CALLS = 1_000
_TAKE = 10_000
_ARRAY = 100_000
_MOST = 200_000  # of one thing; all IDs made are sorted at the end
_WARM_S = 1.5


@dataclass(frozen=True)
class Line:
    """What was measured: ``ns`` for one of ``count`` things, and over which floor's, if any."""

    what: str
    count: int
    ns: float
    floor: "Line | None" = None

    @property
    def ratio(self) -> float | None:
        """How many times its floor it costs."""
        return self.ns / self.floor.ns if self.floor else None

    def as_json(self) -> dict[str, Any]:
        """The numbers as they are."""
        return {
            "what": self.what,
            "count": self.count,
            "ns_each": self.ns,
            "floor": self.floor.what if self.floor else None,
            "ratio": self.ratio,
        }

    def as_row(self) -> tuple[str, ...]:
        """The numbers as they are read."""
        beside = ""
        if self.floor and self.ratio:
            beside = f"{self.ratio:,.{2 if self.ratio < 100 else 0}f} x {self.floor.what}"
        return self.what, f"{self.ns:,.1f}", f"{1e9 / self.ns:,.0f}", beside


class _Bench:
    """Measures one thing after the other, each for about ``seconds``, and keeps the IDs."""

    def __init__(self, seconds: float) -> None:
        self._ns = int(seconds * 1e9)
        self.ids: list[int] = []

    def line(self, what: str, batch: Callable[[], Any], floor: Line | None = None) -> Line:
        """Repeat ``batch`` until the time is over or enough is made, at least once.

        What has a floor is IDs, and is kept.
        """
        count = spent_ns = 0
        while count == 0 or (spent_ns < self._ns and count < _MOST):
            before_ns = time.perf_counter_ns()
            made = batch()
            spent_ns += time.perf_counter_ns() - before_ns
            count += len(made)
            if floor is not None:
                self._keep(made)
        return Line(what, count, spent_ns / count, floor)

    def _keep(self, made: Any) -> None:
        if isinstance(made, list):
            self.ids += made
            return
        from frazil.schemes.arrays import ints

        self.ids += ints(made)


@click.command
@registry_options
@scheme_options
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=0.5,
    show_default=True,
    metavar="S",
    help="How long each line is measured, at most.",
)
@json_option
def command(url: str, namespace: str, scheme: Scheme, seconds: float, *, as_json: bool) -> None:
    """Measure what an ID costs on this machine, and check that none repeats.

    The IDs are made in a namespace of their own, unless one is given; a scheme that counts uses
    its numbers up. On a busy machine only the last column says something.

    \b
      frazil bench
      frazil bench --scheme uniqueid-spread --json
      frazil bench --url static:7 --seconds 2
    """
    if parse_url(url).maker == "icicle":
        raise ConfigError(
            "icicle: issues at the servers; python -m benchmarks.icicle measures them"
        )
    if is_default("namespace"):
        namespace = _own_namespace(url, scheme)
    bench = _Bench(seconds)
    lines = list(_measure(bench, url, namespace, scheme))
    check_unique(bench.ids)
    setting = {
        "scheme": scheme.name,
        "layout": str(scheme.layout),
        "url": url,
        "namespace": namespace,
        "frazil": f"{frazil.__version__}, {'compiled' if frazil.COMPILED else 'interpreted'}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }
    if as_json:
        rows = [line.as_json() for line in lines]
        click.echo(json.dumps({**setting, "unique": len(bench.ids), "lines": rows}, indent=1))
        return
    console = terminal.console()
    console.print(terminal.facts(setting.items()))
    console.print()
    right = ("ns each", "a second", "over its floor")
    table = terminal.table("", *right, right=right)
    for line in lines:
        table.add_row(*line.as_row())
    console.print(table)
    console.print()
    console.print(f"{len(bench.ids):,} IDs made, no two alike")


def _own_namespace(url: str, scheme: Scheme) -> str:
    """A namespace for this scheme; nobody keeps its IDs, so it may begin as new."""
    namespace = f"bench-{scheme.fingerprint[:8]}"
    with suppress(ConfigError):  # it is there already
        connect(url, namespace, scheme).initialise(ask_of(LastSeen()), 0)
    return namespace


def check_unique(ids: list[int]) -> None:
    """Raises InternalError if an ID is there twice."""
    again = [one for one, other in pairwise(sorted(ids)) if one == other]
    if again:
        raise InternalError(
            f"{len(again):,} of {len(ids):,} IDs repeat, the first of them {again[0]}; "
            "please report this, with the scheme and the registry"
        )


def _measure(bench: _Bench, url: str, namespace: str, scheme: Scheme) -> Iterator[Line]:
    """The lines, each floor before what stands on it."""
    terms = connect(url, namespace, scheme).terms
    lead = duration_text(terms.horizon_ticks * terms.tick_us if terms.timed else 0)
    calls, take, array = _sizes(scheme, terms.horizon_ticks)
    limit = scheme.layout.ids_per_second

    single = bench.line("object()", lambda: [object() for _ in repeat(None, calls)])
    yield single
    with frazil.open(url, scheme, namespace=namespace) as ids:
        first = ids()
        floor = single
        if limit and limit < 1e9 / single.ns:
            floor = Line("the layout's limit", 0, 1e9 / limit)
            yield floor
        yield bench.line("ids()", lambda: [ids() for _ in repeat(None, calls)], floor)
    with frazil.open(url, scheme, namespace=namespace, lead=lead) as early:
        if limit:
            _warm(early)
            what = f"ids(), lead {lead}"
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


def _warm(ids: frazil.Generator) -> None:
    until_s = time.monotonic() + _WARM_S
    while time.monotonic() < until_s:
        ids()
        time.sleep(0.005)


def _sizes(scheme: Scheme, horizon_ticks: int) -> tuple[int, int, int]:
    """How many IDs to make at a time: calls, take, array. In slow layouts what a lead allows."""
    layout = scheme.layout
    if layout.axis != "time":
        return _CALLS, _TAKE, _ARRAY
    room = layout.sequences * horizon_ticks
    return min(_CALLS, layout.sequences), min(_TAKE, room), min(_ARRAY, room)
