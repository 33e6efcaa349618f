"""A process that claims and gives back while it is recorded; started by ``test_power_cut``.

Its order, as JSON in the first argument: ``url``, ``seed``, ``verbs`` (how many), ``initialise``
(do only that) and ``broken`` (see ``breakage``). It notes in the recording what it was given, after
the answer, and what it gives back, before it asks.
"""

import ctypes
import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from frazil.claims.claim import Claim, LastSeen
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect
from frazil.registries.base import Registry
from tests.power import breakage
from tests.tools.verbs import begin

NAMESPACES = {
    "clock": "time:41 node:2 sequence:8 @1ms since 2025-01-01T00:00:00Z",
    "count": "sequence:63",
}

_recorder = ctypes.CDLL(None)


def note(**facts):
    _recorder.power_note(json.dumps(facts).encode())


class Member:
    """A member of one namespace with up to two claims."""

    def __init__(self, name: str, registry: Registry, dice: random.Random) -> None:
        self.name, self.registry, self.dice = name, registry, dice
        self.seen = LastSeen()
        self.claims: list[Claim] = []

    def act(self) -> None:
        """One verb, whichever."""
        verbs = ["mint", "grant"] if not self.claims else ["mint", "renew", "release"]
        if len(self.claims) == 1:
            verbs.append("grant")
        getattr(self, self.dice.choice(verbs))()

    def mint(self):
        self.hear("mint", self.registry.mint(ask_of(self.seen), self.dice.randint(1, 9)))

    def grant(self):
        self.hear("grant", self.registry.grant(ask_of(self.seen), self.dice.randint(20, 500)))

    def renew(self):
        claim = self.claims.pop(0)
        until = claim.until + self.dice.randint(10, 300)
        self.hear("renew", self.registry.renew(ask_of(self.seen, claim), until))

    def release(self):
        claim = self.claims.pop(0)
        used = self.dice.randint(claim.start, claim.until)
        note(name=self.name, verb="close", token=claim.token, used=used)
        reply = self.registry.release(ask_of(self.seen, claim), used)
        held = [claim.slot, claim.start, used]
        self.hear("release", reply, held if isinstance(reply, LastSeen) else None)

    def hear(self, verb, reply, slot=None):
        self.seen = reply if isinstance(reply, LastSeen) else reply.seen
        token = ""
        if isinstance(reply, Claim):
            slot, token = [reply.slot, reply.start, reply.until], reply.token
            if token:
                self.claims.append(reply)
        note(name=self.name, verb=verb, slot=slot, token=token, seen=self.seen._asdict())


def main():
    order = json.loads(sys.argv[1])
    # A cut loses data since the last copy of the log: to see a loss, copies must be rare.
    breakage.apply(order["broken"], hurried=order["broken"] != "same boot")
    import frazil

    dice = random.Random(order["seed"])
    members = [
        Member(name, connect(order["url"], name, frazil.scheme(text)), dice)
        for name, text in NAMESPACES.items()
    ]
    if order["initialise"]:
        for member in members:
            note(name=member.name, verb="begin")
            member.hear("initialise", begin(member.registry))
        return
    for _ in range(order["verbs"]):
        dice.choice(members).act()


if __name__ == "__main__":
    main()
