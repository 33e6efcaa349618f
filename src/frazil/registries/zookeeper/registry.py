"""``zookeeper://``: claims in a ZooKeeper ensemble (3.5 or newer).

A shelf of a namespace is one node, ``/frazil/record/...``. A verb is computed from the nodes as
read, and written with their versions as a condition; after a conflict it is read and computed
again, after a random pause. The read and the leader's clock come in one round trip, the write takes
another. A server may answer a read with an older node: then the write finds another version.

**A write without an answer may have happened.** It is not repeated: the error says that the outcome
is unknown, and what was granted has no owner.

**Losses.** The members of an ensemble lose no acknowledged write together, unless they are restored
from a copy. Then they elect a leader, and each election has a greater epoch than the copy shows. So
the epoch is the incarnation, and each change of leader costs one horizon. Without an ensemble the
epoch is always 0. Instead, the numbers of a server's sessions begin at the millisecond of its
start, and count up from there in steps of a part in 65,536. So two numbers that differ by more than
a quarter of a second belong to two starts. For a counter neither is a loss: an epoch and a start
also change without one. A counter is refused if the root of the tree was created again, and where a
member remembers more.

Limits: an ensemble that was turned into a single server keeps its epoch, which then no longer shows
a start. One node holds at most 1 MiB (``jute.maxbuffer``), which is 20,000 used node numbers.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from frazil.claims.packed_slots import packed, unpacked
from frazil.claims.record import Record
from frazil.errors import ConfigError
from frazil.inputs.url import Options, Url, host_port, tls_files
from frazil.registries.base import Answer, terms_of
from frazil.registries.doctor import StoreReport
from frazil.registries.shared_links import SharedLinks
from frazil.registries.shelves import Changes, ShelvedRegistry
from frazil.registries.zookeeper.doctor import examine
from frazil.registries.zookeeper.link import Conflict, Link, State
from frazil.schemes.scheme import Scheme
from frazil.system.chance import jitter
from frazil.system.clock import boot_ns, boot_s, wall_us

_CROWD_S = 10.0
_PORT = 2181
_SAME_START_MS = 256


class ZookeeperRegistry(ShelvedRegistry):
    """A registry in an ensemble: ``zookeeper://[user:password@]host[:port],...[/root]``.

    ``zookeepers:`` for TLS. Options: ``?horizon=`` (default 5 s); for TLS ``?ca=``, ``?cert=`` and
    ``?key=``, files.
    """

    def __init__(self, url: Url, namespace: str, scheme: Scheme) -> None:
        options = url.options()
        terms = terms_of(scheme, options.horizon_us())
        super().__init__(url, namespace, terms)
        driver = _driver_options(url, options)
        options.finish()
        root = f"/{url.path.strip('/') or 'frazil'}"
        make = partial(Link, self.url, root, driver, url.user if any(url.user) else None)
        self._links = SharedLinks(make, "zookeeper", url.text)
        self._read_us = 0
        self._bytes = 0

    def reading_us(self) -> int:
        """See RecordRegistry: the leader's clock, read after the node."""
        return self._read_us

    def perform(
        self, verb: Callable[[Record, int, str], Answer], shelf: int | None = None, at: int = 0
    ) -> Answer:
        deadline_s, tried = boot_s() + _CROWD_S, 0
        while True:
            try:
                return super().perform(verb, shelf, at)
            except Conflict:
                tried += 1
                if boot_s() > deadline_s:
                    raise self.crowded() from None
            time.sleep(jitter(0.0, min(0.002 * 2**tried, 0.2)))

    @contextmanager
    def locked(
        self, names: Sequence[str], beside: Sequence[str]
    ) -> Iterator[tuple[list[Record], str]]:
        with self._links.taken() as link:
            state = link.read([*names, *beside], self._bytes)
            self.read_ns = boot_ns()
            self._bytes = sum(len(node.data) for node in state.nodes)
            records = [
                unpacked(node.data, dict, f"in zkCli.sh: deleteall {link.path(node.name)}")[0]
                for node in state.nodes
            ]
            self._read_us = state.now_us
            changes = Changes(names, records)
            known = next((record.incarnation for record in records if record.sid), "")
            yield records, _incarnation(state, known)
            if changed := list(changes):
                many = len(changed) > 1
                values = {name: packed(record, one_of_many=many) for name, record, _ in changed}
                # A head that changes is written to all shelves, so others may change meanwhile.
                nodes = [node for node in state.nodes if node.name in (names[0], *values)]
                link.write(nodes, values)

    def examine(self) -> StoreReport:
        before_us = wall_us()
        with self._links.taken() as link:
            state = link.read([self.namespace], self._bytes)
            ahead_us = state.now_us - (before_us + wall_us()) // 2
            told, open_to_all = link.tell(b"srvr"), link.open_to_all()
        return examine(told, open_to_all, state.epoch, self.terms, ahead_us)

    def close(self) -> None:
        self._links.close()


def _incarnation(state: State, known: str) -> str:
    """What changes when the ensemble may have lost its data; ``known`` if it has not."""
    root = f"{state.root:x}"
    if state.epoch:
        return f"{root}/epoch {state.epoch}"
    before, _, start = known.partition("/start ")
    if before == root and start and abs(int(start) - state.start_ms) < _SAME_START_MS:
        return known
    return f"{root}/start {state.start_ms}"


def _driver_options(url: Url, options: Options) -> dict[str, Any]:
    places = [host_port(host, _PORT) for host in url.hosts]
    named = [f"{place[0]}:{place[1]}" for place in places if place and place[0]]
    if len(named) < len(places):
        raise ConfigError(f"{url}: write {url.kind}://host1:2181,host2:2181", url=str(url))
    found: dict[str, Any] = {"hosts": ",".join(named)}
    files = tls_files(url, options)
    if files is not None:
        found |= {"use_ssl": True, "check_hostname": True, "ca": files.get("ca")}
        found |= {"certfile": files.get("cert"), "keyfile": files.get("key")}
    return found
