"""``frazil doctor``: what a store is like before anything depends on it.

A store can be reached and still be the wrong one: without a disk, without the right to write, with
another layout under the same name, or with a failover that forgets. None of that shows until it
hurts. The doctor connects as a member would, reads what the store tells of itself (``examine`` of
the registry), and says for each event what would come of it. It looks and changes nothing, unless
``--try`` asks for the whole way: take a claim, make it longer, give it back.
"""

import time
from collections.abc import Iterable

import click

from frazil.claims.claim import Claim, LastSeen, Snapshot, Wait
from frazil.cli._options import json_option, layout_options, registry_argument
from frazil.cli.show.doctor_report import Report, round_trip, tell
from frazil.cli.stores import store
from frazil.errors import ConfigError
from frazil.generator.verb_requests import ask_of
from frazil.inputs.url import parse_url
from frazil.registries.base import Registry
from frazil.registries.doctor import Finding, StoreReport, clock_offset
from frazil.schemes.scheme import Scheme

__all__ = ["command"]


@click.command
@registry_argument
@layout_options
@json_option
@click.option("--try", "trying", is_flag=True, help="Also take a claim and give it back.")
def command(*, url: str, namespace: str, scheme: Scheme, as_json: bool, trying: bool) -> None:
    """Examine a registry's store, and say what it survives.

    Connects, measures, reads the store's settings, and tells in plain words what would come of a
    restart, a failover or a wrong clock. Nothing is changed, unless --try is given. Exit code 1 if
    something is bad: an ID could repeat, or none can be had.

    \b
      frazil doctor redis://localhost
      frazil doctor postgresql://ids@db/app --namespace orders --scheme sonyflake
      frazil doctor etcd://a,b,c --try --json
      frazil doctor icicle://redis-a,redis-b
    """
    if parse_url(url).maker == "icicle":
        from frazil.cli.stores.icicle_doctor import examine_pool

        if trying:
            raise click.UsageError("--try takes a claim, and icicle: has none; use frazil mint -u")
        examine_pool(url, namespace, scheme, as_json=as_json)
        return
    registry = store.kept(url, namespace, scheme)
    found = store.look(registry)
    told = registry.examine()
    facts = [round_trip(registry), *_clock(told), *told.facts]
    facts.append(_namespace(found, registry, namespace))
    if trying:
        facts.append(_tried(registry))
    report = Report(registry.url, f"{registry.url}: {told.server}", facts, told.events)
    tell([report], as_json=as_json, named=False)


def _clock(report: StoreReport) -> Iterable[Finding]:
    if report.ahead_us is not None:
        yield clock_offset(report.ahead_us)


def _namespace(found: Snapshot | None, registry: Registry, namespace: str) -> Finding:
    terms = registry.terms
    if found is None:
        if terms.timed:
            wait = "the first use waits one horizon; frazil init does so ahead of it"
            return Finding("namespace", "note", f"{namespace!r} is new", wait)
        begin = "a counter begins with frazil init --start N"
        return Finding("namespace", "bad", f"{namespace!r} is not there", begin)
    if found.fingerprint != terms.fingerprint:
        ours = "name its scheme to ask about it" if found.layout != terms.layout else "same layout"
        return Finding(
            "namespace", "note", f"{namespace!r} has other terms than asked for: {found.layout}",
            f"{ours}; other members than its own are refused",
        )  # fmt: skip
    held = sum(holding.held for holding in found.holdings)
    return Finding(
        "namespace", "good", f"{namespace!r}: {held} of {len(terms.slots)} node numbers taken"
    )


def _tried(registry: Registry) -> Finding:
    """A claim from its beginning to its end."""
    begun = time.perf_counter()
    reply = registry.grant(ask_of(LastSeen()), 1)
    if isinstance(reply, Wait):
        return Finding(
            "a claim", "note", "not yet", f"it has to wait {reply.wait_us / 1e6:.1f} s; try again"
        )
    longer = registry.renew(ask_of(reply.seen, reply), reply.until + 1)
    if not isinstance(longer, Claim):
        raise ConfigError("a claim that was just given could not be made longer; try again")
    registry.release(ask_of(longer.seen, longer), longer.start)
    took_ms = (time.perf_counter() - begun) * 1e3
    return Finding("a claim", "good", f"taken, made longer and given back in {took_ms:.1f} ms")
