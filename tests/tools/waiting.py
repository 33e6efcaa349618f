"""Waiting for something to come true, with a limit."""

import time
from collections.abc import Callable
from typing import Any

from frazil.claims.claim import Claim, LastSeen, Wait
from frazil.errors import PoolExhausted, RegistryUnavailable
from frazil.generator.verb_requests import ask_of
from frazil.registries.base import Registry
from frazil.system.clock import boot_ns


def granted(registry: Registry, want: int = 5, wait: Callable[[int], None] | None = None) -> Claim:
    """The claim that a new member gets, which remembers how long it has waited.

    wait: lets so many microseconds pass on a clock of the test, instead of real time.
    """
    seen, passed_us = LastSeen(), 0
    while True:
        ask = ask_of(seen)
        ask = ask._replace(boot_us=ask.boot_us + passed_us)
        reply = registry.grant(ask, want)
        if isinstance(reply, Claim):
            return reply
        assert isinstance(reply, Wait)
        seen = ask.memory(reply, boot_ns() // 1000 + passed_us, registry.terms)
        if wait is None:
            time.sleep(reply.wait_us / 1e6)
        else:
            wait(reply.wait_us)
            passed_us += reply.wait_us


def until(ready: Callable[[], Any], what: str, *, patience_s: float = 60.0) -> Any:
    """Wait for something to come true; answers it."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(0.005)
    raise AssertionError(f"waited {patience_s} s for {what}")


def refusal(call: Callable[[], object]) -> PoolExhausted:
    """The error of a call that gets no claim, from a registry that answers.

    On a busy machine a timeout of milliseconds may end before the answer, which is another error.
    """

    def refused() -> PoolExhausted | None:
        try:
            call()
        except PoolExhausted as error:
            return error
        except RegistryUnavailable:
            return None
        raise AssertionError("it got a claim")

    error = until(refused, "an answer of the registry")
    assert isinstance(error, PoolExhausted)
    return error
