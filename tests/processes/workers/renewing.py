"""A process that takes a claim and renews it, again and again."""

import time

import work

import frazil
from frazil.claims.claim import Claim, LastSeen, Lost
from frazil.generator.verb_requests import ask_of
from frazil.registries import connect

order = work.order()
registry = connect(order.url, "default", frazil.scheme(order.scheme))
lost = 0
held = None
for _ in range(order.n):
    if held is None:
        reply = registry.grant(ask_of(LastSeen()), 100)
        held = reply if isinstance(reply, Claim) else None
    else:
        reply = registry.renew(ask_of(held.seen, held), held.until + 5)
        lost += isinstance(reply, Lost)
        held = None if isinstance(reply, Lost) else reply
    time.sleep(0.005)
work.tell(lost=lost)
