"""``frazil doctor``: examine a store before a program depends on it.

A store that answers can still be unsuitable: it may have no disk, no permission to write, another
layout under the same name, or a failover that loses data. The doctor connects like a generator,
reads the store's settings (``examine`` of the registry), and reports the outcome of each event.
It changes nothing, unless ``--try`` is given: then it takes, renews and releases a claim.
"""

import time

import click

from frazil.claims.claim import Claim, LastSeen, Snapshot, Wait
from frazil.cli._options import json_option, registry_argument, typed_command
from frazil.cli.show.doctor_report import Report, round_trip, show_reports
from frazil.cli.stores import store
from frazil.errors import ConfigError
from frazil.generator.request import OpenRequest
from frazil.generator.verb_requests import ask_of
from frazil.registries.base import Registry
from frazil.registries.doctor import Finding, clock_offset, record_clock
from frazil.system.clock import wall_us

_NOT_TRIED = Finding("a claim", "note", "not tried", "--try takes, renews and releases one")


@click.command
@registry_argument
@json_option
@click.option("--try", "trying", is_flag=True, help="Also take, renew and release a claim.")
def command(*, request: OpenRequest, as_json: bool, trying: bool) -> None:
    """Examine a registry's store, and report the events it survives.

    Connects, measures, reads the store's settings, and reports the outcome of a restart, a
    failover or a wrong clock. Without --try it changes nothing. Without URL, the registry is
    FRAZIL_URL or that of this host.

    ✓ means that no action is needed, and ! names a wait, a limit that every store of this kind
    has, or what was not tried. ✗ means that you must act: an ID could repeat, or no ID can be
    issued. Then the exit code is 1.

    \b
      frazil doctor redis://localhost
      frazil doctor postgresql://ids@db/app --namespace orders --scheme sonyflake
      frazil doctor etcd://a,b,c --try --json
      frazil doctor icicle://redis-a,redis-b
    """
    if request.url.opened_by.maker == "icicle":
        from frazil.cli.stores.icicle import examine_pool

        if trying:
            raise click.UsageError("icicle: has no claims for --try; use frazil mint -u instead")
        examine_pool(request, as_json=as_json)
        return
    registry = store.persistent(request)
    found = registry.look()
    store_report = registry.examine()
    facts = [round_trip(registry.look)]
    if store_report.ahead_us is not None:
        ahead_us, within_us = store_report.ahead_us, store_report.within_us
        facts.append(clock_offset(ahead_us, within_us, timed=registry.terms.timed))
    if found is not None and registry.terms.timed:
        record_us = found.now_us - wall_us() - (store_report.ahead_us or 0)
        facts.append(record_clock(record_us, registry.terms))
    facts += store_report.facts
    facts.append(_namespace(found, registry, request, has_table=store_report.has_table))
    facts.append(_try_claim(registry) if trying else _NOT_TRIED)
    title = f"{registry.url.removesuffix(':')}: {store_report.server}"
    report = Report(registry.url, title, facts, store_report.events)
    show_reports([report], as_json=as_json, with_server=False)


def _namespace(
    found: Snapshot | None, registry: Registry, request: OpenRequest, *, has_table: bool
) -> Finding:
    terms, namespace = registry.terms, request.namespace
    if found is None:
        init = typed_command("init", request)
        if terms.timed:
            wait = f"the first use waits one horizon; to wait in advance, run: {init}"
            step = wait if has_table else "it needs the table first"
            return Finding("namespace", "note", f"{namespace!r} is new", step)
        start = f"set up a counter: {init} --start N"
        return Finding("namespace", "bad", f"{namespace!r} does not exist", start)
    if found.fingerprint != terms.fingerprint:
        ours = "name its scheme with --scheme" if found.layout != terms.layout else "same layout"
        return Finding(
            "namespace", "note", f"{namespace!r} has another scheme: {found.layout}",
            f"{ours}; generators with other terms are refused",
        )  # fmt: skip
    held = sum(holding.held for holding in found.holdings)
    return Finding(
        "namespace", "good", f"{namespace!r}: {held} of {len(terms.slots)} node numbers taken"
    )


def _try_claim(registry: Registry) -> Finding:
    """Take, renew and release a claim."""
    begun = time.perf_counter()
    reply = registry.grant(ask_of(LastSeen()), 1)
    if isinstance(reply, Wait):
        return Finding("a claim", "note", "not yet", f"try again in {reply.wait_us / 1e6:.1f} s")
    renewed = registry.renew(ask_of(reply.seen, reply), reply.until + 1)
    if not isinstance(renewed, Claim):
        raise ConfigError("the registry did not renew a claim that it just granted; try again")
    registry.release(ask_of(renewed.seen, renewed), renewed.start)
    took_ms = (time.perf_counter() - begun) * 1e3
    return Finding("a claim", "good", f"taken, renewed and released in {took_ms:.1f} ms")
