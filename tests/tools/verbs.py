"""A registry's verbs, as a member says them that remembers nothing but its claim."""

from typing import Any

import frazil
from frazil.claims.claim import LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.system.steps import run_by

ICICLE = frazil.scheme("icicle")
ONE_RECORD = frazil.scheme("sign:1=0 time:41 node:8 sequence:14 @1ms since 2016-02-18")
TICKETS = frazil.scheme("tickets")


def begin(registry: Any, start: int = 0) -> Any:
    """Say that a namespace is new, and where it begins."""
    return registry.initialise(ask_of(LastSeen()), start)


def new(url: str, namespace: str, scheme: Any = ONE_RECORD, start: int = 0) -> Any:
    """A registry for a namespace that is new."""
    registry = connect(url, namespace, scheme)
    begin(registry, start)
    return registry


def grant(registry: Any, ticks: int = 10) -> Any:
    """Ask for a claim."""
    return registry.grant(ask_of(LastSeen()), ticks)


def renew(registry: Any, claim: Any, more: int = 5) -> Any:
    """Ask for some ticks more of a claim."""
    return registry.renew(ask_of(claim.seen, claim), claim.until + more)


def release(registry: Any, claim: Any, until: int) -> Any:
    """Give back what follows a tick."""
    return registry.release(ask_of(claim.seen, claim), until)


def mint(registry: Any, ticks: int = 1) -> Any:
    """Ask for a claim that ends with its last ID."""
    return registry.mint(ask_of(LastSeen()), ticks)


def drive(steps: Any, registry: Any) -> Any:
    """Run each verb that a keeper's steps yield on the registry; returns their result."""
    return run_by(steps, lambda verb: verb(registry))
