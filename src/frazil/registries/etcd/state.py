"""The key of a namespace in etcd: its state as read, and the format of its value.

The value is a random mark (16 characters), a line of JSON, and the packed slots. The JSON contains
the head of the record and its writers' notes, which show a loss (see ``registry``).
"""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import asdict, dataclass
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

    @classmethod
    def read(cls, answer: dict[str, Any], names: Sequence[str]) -> "State":
        """Parse the answer to a transaction that read the key and the queue of these names."""
        key, queue = (
            _found(one["response_range"], name)
            for one, name in zip(answer["responses"], names, strict=True)
        )
        return cls(
            value=b64decode(key.get("value", "")),
            modified=int(key.get("mod_revision", 0)),
            version=int(key.get("version", 0)),
            tail=int(queue.get("version", 0)),
            **around(answer),
        )


def _found(told: dict[str, Any], name: str) -> dict[str, Any]:
    """The key of a name in one part of an answer; empty if it does not exist."""
    found: dict[str, Any] = told["kvs"][0] if "kvs" in told else {}
    if found.get("key", name) != name:
        raise ValueError(f"it is about {found['key']!r}")
    return found


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
    return unpacked(body, Noted, "etcdctl del frazil/record/NAMESPACE")


def written(mark: bytes, record: Record, noted: Noted) -> bytes:
    """The value of a record."""
    return mark + packed(record, asdict(noted))
