"""Steps of one version of frazil, for ``evidence.benchmarks.paired``.

Command: ``python paired_worker.py URL NAME``.

Any version runs this file, by its path, with its own interpreter. For each line on standard input,
``grant N`` or ``renew N``, it writes the time of each step in ns, and the nanoseconds of processor
time that all of them took here.
"""

import json
import sys
import time
from typing import Any

import frazil
from frazil.claims.claim import Claim, LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect

_HORIZON_S = 3600


class Member:
    """A member with a claim that it renews, and others that it takes and gives back."""

    def __init__(self, url: str, name: str) -> None:
        url += f"{'&' if '?' in url else '?'}horizon={_HORIZON_S}s"
        self._registry = connect(url, name, frazil.scheme("icicle"))
        self._seen = LastSeen()
        self._told(ask := ask_of(self._seen), self._registry.initialise(ask, 0))
        self._claim = self.grant(_HORIZON_S * 500)

    def _told(self, ask: Any, reply: Any) -> Any:
        """Remember a reply, as a generator does."""
        seen = reply if isinstance(reply, LastSeen) else reply.seen
        if hasattr(ask, "memory"):
            seen = ask.memory(reply, time.monotonic_ns() // 1000, self._registry.terms)
        self._seen = seen
        return reply

    def grant(self, ticks: int = 1) -> Claim:
        """Take a claim."""
        ask = ask_of(self._seen)
        claim = self._told(ask, self._registry.grant(ask, ticks))
        assert isinstance(claim, Claim)
        return claim

    def give_back(self, claim: Claim) -> None:
        """Release a claim whole."""
        ask = ask_of(self._seen, claim)
        self._told(ask, self._registry.release(ask, claim.start))

    def renew(self) -> None:
        """Renew the claim that is kept."""
        ask = ask_of(self._seen, self._claim)
        self._claim = self._told(ask, self._registry.renew(ask, self._claim.until + 1))

    def steps(self, verb: str, count: int) -> tuple[list[int], int]:
        """The times of steps."""
        took_ns, spent_ns = [], 0
        for _ in range(count):
            cpu_ns, begun_ns = time.process_time_ns(), time.perf_counter_ns()
            claim = self.grant() if verb == "grant" else self.renew()
            took_ns.append(time.perf_counter_ns() - begun_ns)
            spent_ns += time.process_time_ns() - cpu_ns
            if claim:
                self.give_back(claim)
        return took_ns, spent_ns


if __name__ == "__main__":
    member = Member(*sys.argv[1:])
    for line in sys.stdin:
        verb, count = line.split()
        print(json.dumps(member.steps(verb, int(count))), flush=True)
