"""A fork in the middle of a call, as by a signal handler: the call returns twice, to two processes.

Each way to ask for IDs is made to fork where it has its IDs and has not returned: there, and at
each later moment of the call at which Python would run a handler. Parent and child then go on, and
what they return must have nothing in common.
"""

import pytest

from tests.needs import needs
from tests.servers.icicle import Caller
from tests.servers.redis import Server
from tests.tools.python import run_python
from tests.unit.service.conftest import Service

needs("aiohttp", "the client of a service")

BEGIN = """
import asyncio, json, os, sys, threading, time
from dis import opname
from itertools import count
from pathlib import Path
import numpy
import frazil, frazil.aio
from frazil import minting
from frazil.generator.request import make_request
from frazil.remote import base
from frazil.generator.history import History
from frazil.generator.kept_walk import KeptWalk
from frazil.service.namespace import ServedNamespace
from frazil.schemes.scheme import Scheme

url, armed, child, later_on, patience = sys.argv[1], None, None, 0, 0.0
MOMENT = 1_547_000_000_000_000
HOME = str(Path(frazil.__file__).parent)

def fork_at(place):
    global armed, child
    if armed in (place, "any"):
        armed = None
        if later_on:
            Striker(later_on)
        else:
            child = os.fork()

class Striker:
    '''Forks at the so manieth moment of the call at which Python runs signal handlers.

    That is after a call of something written in C, where a function begins, and where a loop
    begins again (ceval.c, CHECK_EVAL_BREAKER).
    '''

    def __init__(self, left):
        self.left, self.last = left, {}
        self.kept = self.trace  # Python still calls it after settrace(None), and holds it no more
        frame = sys._getframe()
        while frame := frame.f_back:
            frame.f_trace, frame.f_trace_opcodes = self.kept, True
        sys.settrace(self.kept)

    def trace(self, frame, event, _argument):
        global child
        frame.f_trace_opcodes = True
        if event == "opcode":
            before, code = self.last.get(frame, ""), frame.f_code.co_code
            name = opname[code[frame.f_lasti]]
            awaited = name == "RESUME" and code[frame.f_lasti + 1] > 1
            self.last[frame] = "" if awaited else name
            if before.startswith(("CALL", "RESUME", "JUMP_BACKWARD")) and self.inside(frame):
                self.left -= 1
                if self.left == 0:
                    sys.settrace(None)
                    child = os.fork()
        elif event == "return":
            self.last[frame.f_back] = ""  # a function of Python's own was called: no such moment
        return self.trace if self.left > 0 else None

    def inside(self, frame):
        "Whether this is frazil, or was called by it."
        while frame.f_code.co_filename != "<string>":
            if frame.f_code.co_filename.startswith(HOME):
                return True
            frame = frame.f_back
        return False

def forking(where, name):
    function = getattr(where, name)
    def forks(*arguments):
        answer = function(*arguments)
        fork_at(name)
        return answer
    setattr(where, name, forks)

forking(Scheme, "format")
forking(Scheme, "uuid")

class Hanging:
    "As a driver's connection, which hangs up when the last one who knows it lets it go."

    def __del__(self):
        if threading.current_thread() is threading.main_thread():  # whose call it is that returns
            fork_at("end")

def tell(given):
    "In a child: say what it was given, and end."
    os.write(writing, json.dumps(given).encode())
    os._exit(0)

def run(make):
    async def listed():
        try:
            given = await make()
        except (frazil.FrazilError, RuntimeError):  # a child has no event loop
            if child != 0:
                raise
            given = []
        sys.settrace(None)
        if child == 0:
            tell(given)  # by the way of the loop, which is its parent's, it would disturb that
        return given
    return asyncio.run(listed())
"""
LOCAL = """
for place, name in ((KeptWalk, "poll"), (KeptWalk, "take_ready"), (KeptWalk, "fill"),
                    (minting, "mint")):
    forking(place, name)

def minted(n, request, registry, mint=minting.mint):
    registry.link = Hanging()
    answer = mint(n, request, registry)
    time.sleep(patience)
    return answer

minting.mint = minted
ids = frazil.open(url, lead="1s")
later = frazil.aio.AwaitedGenerator(ids._walk)
served = ServedNamespace(make_request(url, namespace="served", lead="1s"))

wide = frazil.open(url, namespace="wide", scheme="uuid7", lead="1s")
wide_later = frazil.aio.AwaitedGenerator(wide._walk)

async def wide_uuid():
    return (await wide_later.uuid()).int

def stalled():
    "One that does not come the short way."
    return KeptWalk.stalled(ids._walk)

async def filled():
    return (await served.words(5)).tolist()

ways = {
    "call": ("any", lambda: [stalled()]),
    "text": ("any", lambda: [int(ids.text())]),
    "uuid": ("any", lambda: [wide.uuid().int]),
    "uuid, at its end": ("uuid", lambda: [wide.uuid().int]),
    "take": ("any", lambda: ids.take(5)),
    "array": ("any", lambda: ids.array(5).tolist()),
    "after, as text": ("any", lambda: [ids.after(str(before))]),
    "take, after": ("any", lambda: ids.take(5, after=before)),
    "array, after": ("any", lambda: ids.array(5, after=before).tolist()),
    "text, after": ("any", lambda: [int(ids.text(after=before))]),
    "aio after": ("any", lambda: run(lambda: later.after(before))),
    "aio take, after": ("any", lambda: run(lambda: later.take(5, after=before))),
    "mint": ("mint", lambda: frazil.mint(5, url)),
    "mint, at its end": ("end", lambda: frazil.mint(5, url)),
    "aio call": ("any", lambda: run(later)),
    "aio take": ("any", lambda: run(lambda: later.take(5))),
    "aio text": ("any", lambda: run(later.text)),
    "aio uuid": ("any", lambda: run(wide_uuid)),
    "history": ("_with_region", lambda: [past.at(MOMENT)]),
    "history, many": ("_with_region", lambda: past.at_many([MOMENT] * 3).tolist()),
    # A service fills arrays where the walk is compiled, and takes lists where it is not.
    **({"aio fill": ("any", lambda: run(filled))} if frazil.COMPILED else {}),
}
before = ids.take(10)[0]
forking(History, "_with_region")
frazil.declare_past(url, start="2017-01-01")
past = frazil.history(url, start="2019-01-01", stop="2019-02-01")
past.at_many([MOMENT])
if not frazil.COMPILED:  # in C, nothing runs between the ID and its comparison
    from frazil.walk.atomic import AtomicCaller

    forking(AtomicCaller, "__call__")
    ways["after"] = ("__call__", lambda: [ids.after(before)])
wide.take(10)
"""
SERVED = """
def gathered_all():
    global armed
    fork_at("gather")
    if armed == "last":
        armed = "goes_on"

def gathering(function):
    def own(self, gather):
        def gathered(life):
            answer = yield from gather(life)
            gathered_all()
            return answer
        return (yield from function(self, gathered))
    return own

base._Living._own = gathering(base._Living._own)
def entered(ids):
    ids.link = Hanging()
    return ids

base.Served.__enter__ = entered
ids = frazil.open(url)
before = ids()
forking(base.Life, "goes_on")
forking(base.Prefetch, "ready")
single = "ready" if "prefetch" in url else "gather"

def streamed(ids):
    for n in ids:
        return [n]

async def streamed_later(later):
    async for n in later.stream():
        return [n]

async def asked(ask, url=url, scheme="icicle"):
    async with frazil.aio.open(url, scheme=scheme) as later:
        try:
            return await ask(later)
        finally:
            sys.settrace(None)  # closing is another call

ways = {
    "call": (single, lambda: [ids()]),
    "take, at its last look": ("last", lambda: ids.take(1)),
    "aio call, at its last look": ("last", lambda: run(lambda: asked(lambda later: later()))),
    "next": (single, lambda: [next(ids)]),
    "stream": (single, lambda: streamed(ids.stream())),
    "text": ("format", lambda: [ids.text()]),
    "take": ("gather", lambda: ids.take(5)),
    "mint": ("gather", lambda: frazil.mint(5, url)),
    "mint, at its end": ("end", lambda: frazil.mint(5, url)),
    "array": ("gather", lambda: ids.array(5).tolist()),
    "after": ("gather", lambda: [ids.after(before)]),
    "take, after": ("gather", lambda: ids.take(5, after=before)),
    "array, after": ("gather", lambda: ids.array(5, after=before).tolist()),
    "text, after": ("format", lambda: [ids.text(after=before)]),
    "aio after": ("gather", lambda: run(lambda: asked(lambda later: later.after(before)))),
    "aio call": ("gather", lambda: run(lambda: asked(lambda later: later()))),
    "aio take": ("gather", lambda: run(lambda: asked(lambda later: later.take(5)))),
    "aio text": ("format", lambda: run(lambda: asked(lambda later: later.text()))),
    "aio stream": ("gather", lambda: run(lambda: asked(streamed_later))),
}
if url.startswith("http"):  # a server with Icicle's script makes IDs of 64 bits
    wide_url = url.replace("/a", "/wide")
    wide = frazil.open(wide_url, scheme="uuid7")

    async def wide_uuid(later):
        return (await later.uuid()).int

    ways |= {
        "uuid": ("uuid", lambda: [wide.uuid().int]),
        "uuid, before it": (single, lambda: [wide.uuid().int]),
        "aio uuid": ("uuid", lambda: run(lambda: asked(wide_uuid, wide_url, "uuid7"))),
    }
if "prefetch" in url:  # which is for threads
    ways = {way: how for way, how in ways.items() if not way.startswith("aio")}
"""
END = """
def given_by(where, ask):
    global armed, child, missed
    child, armed = None, where
    try:
        return ask()
    finally:  # without a GIL the last one who knows a thing may let go of it after the call
        missed, armed = armed, None
        sys.settrace(None)

for way, (where, ask) in ways.items():
    for later_on in count():
        reading, writing = os.pipe()
        for patience in (0, 0, 0, 0.01, 0.1, 0.5, 1, 2):  # another thread may let go of it last
            given = given_by(where, ask)
            if child is not None or later_on:
                break
        if child == 0:
            tell(given)
        os.close(writing)
        with open(reading) as file:
            theirs = file.read()
        if child is None:
            assert missed is None and later_on, f"{way} did not fork"
            break
        assert os.waitpid(child, 0)[1] == 0, (way, later_on)
        theirs = json.loads(theirs)
        given, theirs = (one if isinstance(one, list) else [one] for one in (given, theirs))
        assert len(theirs) in (len(given), 0 if way.startswith("aio") else None), (way, later_on)
        assert not set(given) & set(theirs), (way, later_on)
    print(way, later_on, file=sys.stderr)
"""


def test_parent_and_child_return_different_ids(tmp_path):
    run_python(BEGIN + LOCAL + END, f"sqlite:{tmp_path}/claims.db")


@pytest.mark.parametrize("options", ["", "?prefetch=100"])
def test_generators_of_a_service(tmp_path, options):
    config = '[namespaces.a]\nscheme = "icicle"\nregistry = "memory:"\n'
    config += '[namespaces.wide]\nscheme = "uuid7"\nregistry = "memory:"\n'
    with Service(tmp_path, config) as service:
        run_python(BEGIN + SERVED + END, f"{service.url}/a{options}")


@pytest.mark.parametrize("options", ["", "?prefetch=100"])
def test_generators_of_an_icicle_server(options):
    with Server() as server:
        Caller(server, "default").init(3)
        run_python(BEGIN + SERVED + END, f"icicle://127.0.0.1:{server.port}{options}")
