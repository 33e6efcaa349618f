"""``frazil.init`` and ``frazil init``: set up a namespace, so that its first use does not wait.

A first use looks like a loss: a store that was emptied a moment ago, while members continue inside
their claims, is empty like one that never held anything. So the first use has to wait for one
horizon, until each claim of a lost record has ended. Setting up waits in advance.

Three arguments change what it does. ``new`` is a person's statement that the namespace was never
used; only it skips the wait. ``if_missing`` is for what runs at every start, like an init
container: a program cannot know what a person knows, so it makes no statement. It makes one ID in
the usual way, which waits one horizon after a loss, and drops the ID. ``forward`` moves a counter.

In a counter, a lost claim never ends by time, so waiting does not help. So a program never makes
one: a missing counter is an error, and a person sets the next value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Never

from frazil.claims.claim import LastSeen, layout_mismatch
from frazil.errors import ConfigError
from frazil.generator.mint import answer_by, mint
from frazil.generator.request import Duration, OpenRequest, make_request, refuse_full
from frazil.generator.verb_requests import ask_of
from frazil.inputs.arguments import check_whole, expect, refuse_unknown
from frazil.inputs.url import UrlInput
from frazil.registries.base import Registry
from frazil.registries.commands import init_command
from frazil.schemes.scheme import Scheme
from frazil.system.clock import boot_ns

__all__ = ["HowToBegin", "initialise", "initialise_ids"]


@dataclass(frozen=True, slots=True)
class HowToBegin:
    """What the caller knows of a namespace that is set up.

    start: the next value of a counter. forward: it exists, and moves to ``start``. new: it was
    never used. if_missing: nothing is known, and it may exist.
    """

    start: int | None = None
    forward: bool = False
    new: bool = False
    if_missing: bool = False

    def problem(self, scheme: Scheme, spelt: Callable[[str], str]) -> str | None:
        """Why the arguments contradict each other, or None. spelt: an argument's name for users."""
        start, forward, new, missing = map(spelt, ("start", "forward", "new", "if_missing"))
        if self.if_missing and (self.new or self.forward or self.start is not None):
            return (
                f"{missing} may run at every start, so it declares nothing about the namespace; "
                f"omit {new}, {start} and {forward}"
            )
        if scheme.layout.axis == "time":
            if self.start is not None or self.forward:
                return f"{start} and {forward} are for counters; scheme {scheme.name} uses time"
            return None
        if self.new and (self.forward or self.start is not None):
            return f"{new} starts a counter at its first value; use it or {start}"
        if self.forward and self.start is None:
            return f"{forward} needs the next value; add {spelt('start N')}"
        if self.start is None and not (self.new or self.if_missing):
            return (
                f"a counter needs its first value; add {spelt('start N')}, greater than all values "
                f"in use, or {new} if it was never used"
            )
        return None

    def first_value(self, scheme: Scheme) -> int:
        """The next value of a counter that is made or moved."""
        if self.start is not None:
            return self.start
        return 1 if scheme.layout.axis == "sequence" else 0


def initialise(
    request: OpenRequest, how: HowToBegin, waiting: Callable[[int], None] = lambda _: None
) -> bool:
    """Set up the namespace of a request. Returns whether it had no record or a counter was moved.

    waiting: called with the length of the wait in µs, before this waits for a horizon. With
    ``if_missing`` the wait may be shorter.
    Precondition: ``how`` has no problem. Raises ConfigError for a namespace that exists (but see
    ``HowToBegin``), LayoutExhausted, and the errors of the registry.
    """
    refuse_full(request.scheme)
    registry = request.connect()
    if how.if_missing:
        return _ensure(registry, request, waiting)
    if registry.terms.timed:
        _begin(registry, request, 0 if how.new else None)
        if not how.new:
            waiting(_wait_us(registry))
            _wait_for_an_id(registry, request)
        return True
    if not how.forward and registry.look() is not None:
        raise ConfigError(
            f"namespace {request.namespace!r} of {request.url} exists; to move its counter to a "
            "greater value, add --forward (in Python forward=True)",
            url=str(request.url),
        )
    registry.initialise(ask_of(LastSeen()), how.first_value(request.scheme))
    return True


def _begin(registry: Registry, request: OpenRequest, start: int | None) -> None:
    """Make the record. Raises ConfigError if there is one."""
    try:
        registry.initialise(ask_of(LastSeen()), start)
    except ConfigError as error:
        if "revision" not in error.facts:
            raise
        raise ConfigError(
            f"namespace {request.namespace!r} of {request.url} already has a record, which did not "
            "change: it can be used, and --if-missing (in Python if_missing=True) accepts it; for "
            "a new one, choose another name with --namespace (namespace=)",
            **(error.facts | {"url": str(request.url)}),
        ) from None


def _ensure(registry: Registry, request: OpenRequest, waiting: Callable[[int], None]) -> bool:
    """Make the record if there is none, and wait for an ID. Returns whether there was none."""
    until_ns = boot_ns() + request.timeout_us * 1000
    found = answer_by(registry.look, until_ns, registry.url)
    if found is not None and found.fingerprint != registry.terms.fingerprint:
        raise layout_mismatch(found.layout, registry.terms)
    if registry.terms.timed:
        if found is None:
            answer_by(registry.prepare, until_ns, registry.url)
            waiting(_wait_us(registry))
        _wait_for_an_id(registry, request)
    elif found is None:
        command = init_command(str(request.url), request.namespace, request.scheme)
        raise ConfigError(
            f"{request.url} has no counter {request.namespace!r}, or has lost it, and a program "
            "cannot know its next value: find the highest value in use and run once, by hand: "
            f"{command} --start N (--new if it was never used)",
            url=str(request.url),
        )
    return found is None


def _wait_us(registry: Registry) -> int:
    """How long nothing is granted after a first use or a loss."""
    return registry.terms.wait_ticks * registry.terms.tick_us


def _wait_for_an_id(registry: Registry, request: OpenRequest) -> None:
    """End the wait after a loss. It may begin again, if a request notices another one."""
    mint(1, request, registry, guard_us=2 * _wait_us(registry))


def initialise_ids(
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    namespace: str = "default",
    fields: Mapping[str, int] | None = None,
    start: int | None = None,
    forward: bool = False,
    new: bool = False,
    if_missing: bool = False,
    timeout: Duration = 10,
    **unknown: Never,
) -> bool:
    """Set up a namespace, so that its first use does not wait; what ``frazil init`` does.

    For a layout with time this waits once, 1 s on this host and 5 s on a server, because an earlier
    record may be lost. A layout without time must be set up once, with the first value to issue.

    url, scheme, namespace, fields: as in ``open``, for a registry.
    start: the next value of a counter; greater than all values in use.
    forward: move an existing counter ahead to ``start``.
    new: the namespace was never used, so do not wait; a counter begins at 1, a run at 0. Never let
    a program say so at each start: after a lost record, IDs would repeat.
    if_missing: for programs that run at every start. A namespace that exists does not change; if
    its record was lost, this waits one horizon. A counter that is missing is an error.
    timeout: with ``if_missing``, how long to wait for a store, beyond the wait for a loss.

    Returns whether the namespace had no record (or a counter was moved). Raises ConfigError, also
    for a namespace that exists already, and the errors of the registry.
    """
    refuse_unknown("init", initialise_ids, unknown)
    for name, value in {"forward": forward, "new": new, "if_missing": if_missing}.items():
        expect(f"{name}=", value, bool, "True or False")
    if start is not None:
        start = check_whole("start=", start)
    request = make_request(url, scheme, namespace=namespace, fields=fields, timeout=timeout)
    if request.url.opened_by.maker != "registry":
        raise ConfigError(
            f"{request.url} makes IDs itself; run frazil init URL for the servers of an icicle: "
            "pool, and nothing for a service, which sets up its namespaces",
            url=str(request.url),
        )
    how = HowToBegin(start, forward, new, if_missing)
    problem = how.problem(request.scheme, lambda name: f"{name.replace(' N', '')}=")
    if problem is not None:
        raise ConfigError(problem)
    return initialise(request, how)
