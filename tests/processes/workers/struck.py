"""A process whose call of ``frazil.mint`` is struck at each of its bytecodes in turn.

A signal handler runs in the main thread between two bytecodes; here a trace function does, so that
no moment is left to chance. ``what``: "raise", "mint" (a second call inside the first) or "fork"
(the child goes on in the call, as its parent does). After each blow there are two calls that
nobody interrupts, whose numbers must be right too. A fork after the last look at itself is as if
it came just after the call: both sides have what it answers.
"""

import os
import sys
from contextlib import suppress

import work

import frazil

LAST_LOOK = 20  # bytecodes from there to the end of the call

order = work.order()
id_log = work.IdLog(order, "struck")


class Blow(Exception):
    """What a handler raises."""


def mint():
    return frazil.mint(1, order.url, order.scheme, timeout=5)


class Striker:
    """Strikes once, at a bytecode of the call given by its number."""

    def __init__(self, at):
        self.left = at
        self.child = None

    def trace(self, frame, event, _argument):
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                self.strike()
        return self.trace

    def strike(self):
        if order.what == "raise":
            sys.settrace(None)
            raise Blow
        if order.what == "mint":
            try:
                id_log.put(mint())
            except frazil.FrazilError as error:
                raise AssertionError("the call inside the call got no ID") from error
        else:
            self.child = os.fork()


mint()
at = 1
while True:
    striker = Striker(at)
    ids = []
    with suppress(Blow, frazil.FrazilError):  # "forked in the middle" is an answer, and no repeat
        sys.settrace(striker.trace)
        try:
            ids += mint()
        finally:
            sys.settrace(None)
    if striker.left > 0:
        break
    if striker.child == 0 and -striker.left < LAST_LOOK:
        ids.clear()
    ids += mint() + mint()
    if striker.child == 0:
        id_log = work.IdLog(order, f"child-{at}")
    id_log.put(ids)
    if striker.child == 0:
        os._exit(0)
    if striker.child:
        assert os.waitpid(striker.child, 0)[1] == 0, at
    at += order.stride
work.tell(struck=at)
