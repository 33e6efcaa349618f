"""A process that does what each line of its input says, and answers with a line.

A line is a JSON list: what to do, and with what. The answer is what came of it, or the error.
"""

import json
import os
import sys
import time

import frazil

generators = {}


def opened(name, url, scheme, lead="100ms"):
    generators[name] = frazil.open(url, scheme, lead=lead, timeout="10s")


def take(name, n):
    return generators[name].take(n)


def take_in_turn(names, n, times):
    return [number for _ in range(times) for name in names for number in take(name, n)]


def close(name):
    generators[name].close()


def mint(n, url, scheme):
    return frazil.mint(n, url, scheme, lead="100ms", timeout="10s")


def child_takes(name, n):
    """What a forked child is given; the child lives on as long as nobody ends it."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        with os.fdopen(tell, "w") as answer:
            answer.write(json.dumps(attempt(take, name, n)))
        time.sleep(1000)
    os.close(tell)
    with os.fdopen(told) as answer:
        return [pid, json.load(answer)]


def become(uid):
    frazil.mint(1, "memory:")  # what is imported later would need files that it may read
    frazil.scheme("tsid")
    frazil.open("static:0?state=none").close()
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


VERBS = {"open": opened, "take": take, "take_in_turn": take_in_turn, "close": close}
VERBS |= {"mint": mint, "fork": child_takes, "become": become}


def attempt(verb, *told):
    try:
        return verb(*told)
    except frazil.FrazilError as error:
        return f"{type(error).__name__}: {error}"


for line in sys.stdin:
    name, *told = json.loads(line)
    sys.stdout.write(json.dumps(attempt(VERBS[name], *told)) + "\n")
    sys.stdout.flush()
