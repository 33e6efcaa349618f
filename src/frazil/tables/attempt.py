"""The work of one attempt of a task: claim, make an ID for each row, give the rest back.

An engine runs a task again when a worker dies, and twice at the same time when it is slow. If IDs
depended only on the partition (its number or its rows), the second attempt would repeat the IDs of
the first, and readers may have seen some of both. So each attempt opens a generator of its own, and
no two attempts have an ID in common. The cost is a claim, some milliseconds.

An attempt that dies keeps its claim to the end of the store's horizon, a few seconds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from frazil.errors import ClaimLost
from frazil.generator.history import past_registry
from frazil.generator.local import open_request
from frazil.generator.request import OpenRequest, make_request
from frazil.inputs.url import UrlInput
from frazil.opening import TaskOptions
from frazil.schemes.scheme import Scheme
from frazil.tables.new_column import column_type, new_column, opened
from frazil.tables.reach import check_reach

if TYPE_CHECKING:
    import pyarrow as pa

USUAL: TaskOptions = {
    "lead": "1s",  # batches come in bursts, and a wait at each would add up
    "timeout": 60,
}


@dataclass(frozen=True)
class Attempt:
    """The settings of an attempt; they are pickled and sent to the workers.

    ``kind`` is that of ``column_type``. ``is_complete``: whether
    the whole table was made before, so that this attempt would give its rows other IDs.
    ``time_column``: the column of the rows' moments, for IDs of the past.
    """

    request: OpenRequest
    column: str
    kind: str
    is_complete: Callable[[], bool] | None = None
    time_column: str | None = None

    def arrow_batches(self, batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        """Batches with the new column as their first, for ``mapInArrow``."""
        import pyarrow as pa

        self._check()
        with opened(self.request, self.time_column) as ids:
            for batch in batches:
                moments = None if self.time_column is None else batch.column(self.time_column)
                new = pa.array(new_column(ids, batch.num_rows, self.kind, moments))
                names = [self.column, *batch.schema.names]
                yield pa.RecordBatch.from_arrays([new, *batch.columns], names)

    def arrow_table(self, table: "pa.Table") -> "pa.Table":
        """A table with the new column as its first, for ``map_batches``."""
        import pyarrow as pa

        self._check()
        with open_request(self.request) as ids:
            new = pa.array(new_column(ids, table.num_rows, self.kind))
        return table.add_column(0, self.column, new)

    def frame(self, frame: Any) -> Any:
        """A frame of pandas with the new column as its first, for ``map_partitions``."""
        self._check()
        with open_request(self.request) as ids:
            stamped = frame.copy()
            stamped.insert(0, self.column, new_column(ids, len(frame), self.kind))
            return stamped

    def _check(self) -> None:
        """Raise ClaimLost if the rows have IDs already."""
        if self.is_complete is not None and self.is_complete():
            raise ClaimLost(
                "a worker died after this table was stamped, and its rows would be computed again "
                "with other IDs; stamp again with path=, which keeps the rows in files"
            )


def make_attempt(
    column: str,
    url: UrlInput | None,
    scheme: str | Scheme,
    engine: str,
    *,
    one_host: bool,
    text: bool,
    unsigned: bool,
    is_complete: Callable[[], bool] | None = None,
    time_column: str | None = None,
    **options: Unpack[TaskOptions],
) -> Attempt:
    """The attempt for the arguments of a ``stamp``.

    Raises ConfigError for invalid arguments, a store that workers cannot share (``check_reach``)
    and a scheme whose IDs no integer of the engine holds (``column_type``).
    """
    request = make_request(url, scheme, **(USUAL | options))
    check_reach(request, engine, one_host=one_host)
    kind = column_type(request.scheme, text=text, unsigned=unsigned)
    if time_column is not None:
        past_registry(request)
    return Attempt(request, column, kind, is_complete, time_column)
