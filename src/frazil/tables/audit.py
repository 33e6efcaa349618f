"""The result of an audit of a column of IDs, for every engine.

Order means nothing in a table of many partitions, so it is not checked. Each engine brings equal
IDs together (a shuffle by their value) and then counts inside each part. For engines that have
arrays this is ``counted``, and ``joined`` adds the parts up.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from frazil.errors import ConfigError
from frazil.schemes.scheme import Scheme
from frazil.system import clock

_SHOWN = 10
_INTEGER = re.compile(r"u?int(8|16|32|64)(\[pyarrow\])?|bigint", re.IGNORECASE)
_FLOAT = re.compile("float|double", re.IGNORECASE)


@dataclass(frozen=True)
class Audit:
    """The result of an audit.

    rows: all rows. missing: rows without an ID. invalid: rows whose number is not an ID of the
    scheme (a constant differs, or it is negative). distinct: how many different numbers there are.
    repeated: how many of them occur more than once; examples: up to ten of these. nodes: rows by
    node, of the valid ones. first_us, last_us: the span of their moments (µs since 1970), None
    without a time.
    """

    rows: int = 0
    missing: int = 0
    invalid: int = 0
    distinct: int = 0
    repeated: int = 0
    examples: tuple[int, ...] = ()
    nodes: dict[int, int] = field(default_factory=dict)
    first_us: int | None = None
    last_us: int | None = None

    def to_json(self) -> str:
        """The fields as JSON, which every engine carries."""
        return json.dumps({**asdict(self), "nodes": list(self.nodes.items())})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The audit of such a text."""
        facts = json.loads(text)
        nodes, examples = dict(facts.pop("nodes")), tuple(facts.pop("examples"))
        return cls(**facts, nodes=nodes, examples=examples)

    @property
    def good(self) -> bool:
        """Whether each row has a valid ID that no other row has."""
        return not (self.missing or self.invalid or self.repeated)

    @property
    def first(self) -> datetime | None:
        """``first_us`` as a datetime in UTC."""
        return None if self.first_us is None else clock.moment(self.first_us)

    @property
    def last(self) -> datetime | None:
        """``last_us`` as a datetime in UTC."""
        return None if self.last_us is None else clock.moment(self.last_us)


def check_audited(column: str, types: Mapping[str, object]) -> None:
    """Raise ConfigError unless a table with these types has the column, and it is of integers."""
    if column not in types:
        raise ConfigError(
            f"the table has no column {column!r}; it has {', '.join(map(str, types))}", value=column
        )
    kind = str(types[column])
    if _FLOAT.match(kind):
        raise ConfigError(
            f"{column!r} has the type {kind}, which damages IDs; read the table again with an "
            "integer type",
            value=kind,
        )
    if not _INTEGER.fullmatch(kind):
        raise ConfigError(
            f"{column!r} has the type {kind}, and an engine audits integers; write the table as "
            f"Parquet and run 'frazil audit FOLDER --column {column}', which reads text as well",
            value=kind,
        )


def counted(column: Any, missing: int, scheme: Scheme) -> Audit:
    """The audit of a part of a table: an integer column without gaps, and the rows without an ID.

    Equal IDs must be in the same part.
    """
    import numpy as np

    from frazil.schemes import arrays

    numbers, counts = np.unique(np.asarray(column), return_counts=True)
    valid = arrays.all_constant(numbers, *scheme.constants, scheme.id_max)
    good, weights = numbers[valid], counts[valid]
    found = scheme.unpack_many(good)
    nodes: Counter[int] = Counter()
    if "node" in found:
        for node in np.unique(found["node"]).tolist():
            nodes[node] = int(weights[found["node"] == node].sum())
    times = found["time"].view("int64") if scheme.layout.tick_us and len(good) else None
    return Audit(
        rows=int(counts.sum()) + missing,
        missing=missing,
        invalid=int(counts[~valid].sum()),
        distinct=len(numbers),
        repeated=int((counts > 1).sum()),
        examples=tuple(numbers[counts > 1][:_SHOWN].tolist()),
        nodes=dict(nodes),
        first_us=None if times is None else int(times.min()),
        last_us=None if times is None else int(times.max()),
    )


def joined(parts: Iterable[Audit]) -> Audit:
    """The audit of a table of its parts, no two of which have an ID in common."""
    found = list(parts)
    nodes: Counter[int] = Counter()
    for part in found:
        nodes.update(part.nodes)
    first = [part.first_us for part in found if part.first_us is not None]
    last = [part.last_us for part in found if part.last_us is not None]
    return Audit(
        rows=sum(part.rows for part in found),
        missing=sum(part.missing for part in found),
        invalid=sum(part.invalid for part in found),
        distinct=sum(part.distinct for part in found),
        repeated=sum(part.repeated for part in found),
        examples=tuple(n for part in found for n in part.examples)[:_SHOWN],
        nodes=dict(sorted(nodes.items())),
        first_us=min(first, default=None),
        last_us=max(last, default=None),
    )
