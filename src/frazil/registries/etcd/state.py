"""A key of a namespace in etcd: its state, the format of its value, and what is asked about it.

The value is a random mark (16 characters), a line of JSON, and the packed slots. The JSON contains
the head of the record and its writers' notes, which show a loss (see ``registry``).
"""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from frazil.claims.packed_slots import packed, unpacked
from frazil.claims.record import Record

_MARK_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class State:
    """The key at some moment (value b"" if it does not exist), and the store.

    version counts the writes of the key; term and store are raft's term and the revision of the
    whole store; tail is the last ticket of the queue. index is that of raft's log, or 0 if it was
    not requested because the connection was the same as before.
    """

    value: bytes
    modified: int
    version: int
    tail: int
    cluster: str
    term: int
    store: int
    index: int

    @property
    def mark(self) -> bytes:
        """The random text of the write that created it."""
        return self.value[:_MARK_CHARACTERS]

    @property
    def served(self) -> int:
        """The last ticket served; for a missing key, the last one taken."""
        return parsed(self.value)[1].served if self.value else self.tail

    @classmethod
    def read(cls, answer: dict[str, Any], names: Sequence[str]) -> "list[State]":
        """Parse the answer to a transaction that read keys and, after each, its queue."""
        told = [
            _found(one["response_range"], name)
            for one, name in zip(answer["responses"], names, strict=True)
        ]
        return [
            cls(tail=int(queue.get("version", 0)), **_told(key), **around(answer))
            for key, queue in zip(told[::2], told[1::2], strict=True)
        ]

    def again(self, answer: dict[str, Any], one: dict[str, Any], name: str) -> "State":
        """The state by the part of an answer that read the key, but not its queue."""
        return replace(self, **_told(_found(one["response_range"], name)), **around(answer))


def _found(told: dict[str, Any], name: str) -> dict[str, Any]:
    """The key of a name in one part of an answer; empty if it does not exist."""
    found: dict[str, Any] = told["kvs"][0] if "kvs" in told else {}
    if found.get("key", name) != name:
        raise ValueError(f"it is about {found['key']!r}")
    return found


def _told(key: dict[str, Any]) -> dict[str, Any]:
    """The key's part of a state."""
    return {
        "value": b64decode(key.get("value", "")),
        "modified": int(key.get("mod_revision", 0)),
        "version": int(key.get("version", 0)),
    }


@dataclass(frozen=True, slots=True)
class Noted:
    """The notes beside a record.

    version: of the key, with this write. term and index: the highest that its writers knew.
    served: the highest ticket served. era: a random text, which changes when a loss is settled.
    """

    version: int = 0
    term: int = 0
    index: int = 0
    served: int = 0
    era: str = ""


def around(answer: dict[str, Any]) -> dict[str, Any]:
    """The store's part of a state, from an answer's header, which omits zeros."""
    header = answer["header"]
    return {
        "cluster": header.get("cluster_id", "0"),
        "term": int(header.get("raft_term", 0)),
        "store": int(header.get("revision", 0)),
        "index": answer.get("raft_index", 0),
    }


def parsed(value: bytes) -> tuple[Record, Noted]:
    """The record and the notes in a value; an empty record if there is none."""
    body = value[_MARK_CHARACTERS:] or value  # a value that is too short is not an empty one
    return unpacked(body, Noted, "etcdctl del 'frazil/record/NAMESPACE' 'frazil/record/NAMESPACE '")


def written(mark: bytes, record: Record, noted: Noted, *, one_of_many: bool) -> bytes:
    """The value of a record. one_of_many: whether others are written in the same request."""
    return mark + packed(record, asdict(noted), one_of_many=one_of_many)


class Key:
    """A key and its queue, and what this member knows of them.

    state: the last one, None if it may be old. era, store: those of the record when it was read
    last. alone: whether no other member had written it then, since this one did. ticket: this
    member's in the queue, 0 if it has none.
    """

    def __init__(self, name: str) -> None:
        self.name = b64encode(f"frazil/record/{name}".encode()).decode()
        self.queue = b64encode(f"frazil/queue/{name}".encode()).decode()
        self.state: State | None = None
        self.era, self.store, self.ticket = "", 0, 0
        self.alone = True

    @property
    def crowded(self) -> bool:
        """Whether a member was waiting with a ticket when the key was read."""
        return self.state is not None and self.state.tail > self.state.served

    def unchanged(self, state: State, *, alone: bool) -> list[dict[str, Any]]:
        """The conditions for an unchanged key: its revision and its mark.

        alone: whether the request has no conditions for other keys. Of many keys the mark is
        enough, and etcd does not allow more conditions.
        """
        asked: list[dict[str, Any]] = []
        same = {"key": self.name, "target": "MOD", "mod_revision": state.modified}
        if alone or not state.value:
            asked.append(same | {"result": "EQUAL"})
        if state.value:
            for result, bound in ("GREATER", state.mark), ("LESS", state.mark + b"\xff"):
                mark = {"target": "VALUE", "value": b64encode(bound).decode(), "result": result}
                asked.append({"key": self.name} | mark)
        return asked

    def drawn(self, answer: dict[str, Any]) -> int:
        """The ticket, by the answer to a write of the queue."""
        before = answer.get("prev_kv", {"key": self.queue})
        if before["key"] != self.queue or "header" not in answer or "responses" in answer:
            raise ValueError("it is about another key")
        return int(before.get("version", 0)) + 1


def look(keys: Sequence[Key]) -> list[dict[str, Any]]:
    """The requests that read keys and their queues."""
    return [{"request_range": {"key": name}} for name in _names(keys)]


def found(keys: Sequence[Key], answer: dict[str, Any]) -> list[State]:
    """The states of keys, by the answer to these requests."""
    return State.read(answer, _names(keys))


def _names(keys: Sequence[Key]) -> list[str]:
    return [name for key in keys for name in (key.name, key.queue)]
