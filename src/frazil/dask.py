"""IDs for Dask: a key for each row of a data frame of many partitions.

    frame = frazil.dask.stamp(frame, "id", "redis://ids.example")
    frazil.dask.audit(frame, "id").good

A collection is a plan: each ``compute`` computes its partitions again, and would give each row
another ID. No ID repeats, but a join of two results matches no row. So ``stamp`` computes the rows
once and keeps them:

- ``path=``: in Parquet files, which are read again. Nothing is lost with a worker.
- else by ``persist``. The scheduler of a cluster makes the partitions of a worker that died again,
  without a message. So ``stamp`` seals the frame when it is complete: from then on, an attempt to
  make a partition again fails, and with it the computation that needs the lost rows.
- ``once=True`` keeps nothing, for a frame that is computed exactly once, for example by
  ``to_parquet``.

Each attempt of a task has a claim of its own (``frazil.tables.attempt``). IDs are int64 if all IDs
of the scheme fit, because uint64 becomes float64 beside int64.
"""

from functools import partial
from typing import TYPE_CHECKING, Any, Unpack
from uuid import uuid4

from frazil.inputs.url import UrlInput
from frazil.opening import TaskOptions
from frazil.pandas import unpack
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as find_scheme
from frazil.system.extras import needs
from frazil.tables.attempt import make_attempt
from frazil.tables.audit import Audit, check_audited, counted, joined
from frazil.tables.new_column import check_kept, check_new
from frazil.tables.parts import Parts, make_parts
from frazil.tables.reach import is_loopback

if TYPE_CHECKING:
    import dask.dataframe as dd

__all__ = ["audit", "columns", "stamp"]


def stamp(
    frame: "dd.DataFrame",
    column: str,
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    path: str | None = None,
    once: bool = False,
    text: bool = False,
    **options: Unpack[TaskOptions],
) -> "dd.DataFrame":
    """The frame with a new first column that has one new ID for each row, made now and kept.

    url, scheme and ``options`` (namespace, fields, lead, timeout, token) are those of
    ``frazil.open``; the lead is 1 s and the timeout 60 s if not given. ``path`` and ``once`` are
    described above. The column is int64, uint64 if that does not hold every ID, or ``str`` with
    ``text``.

    Raises ConfigError for a frame that has the column already, for a store that workers cannot
    share, and for IDs that no integer holds.
    """
    dd = _dataframe()
    check_kept(path, once=once)
    check_new(column, frame.columns)
    client = _client()
    seal = f"frazil-{uuid4().hex}" if client and not (once or path) else None
    attempt = make_attempt(
        column, url, scheme, "Dask", one_host=_is_one_host(client), text=text, unsigned=True,
        is_complete=partial(_is_set, seal) if seal else None, **options,
    )  # fmt: skip
    kind = "str" if attempt.kind == "text" else attempt.kind
    meta = frame._meta.copy()  # noqa: SLF001 - the documented meta
    meta.insert(0, column, _empty(kind))
    stamped = frame.map_partitions(attempt.frame, meta=meta, enforce_metadata=False)
    if once:
        return stamped
    if path is not None:
        parts = make_parts(path)
        return dd.read_parquet(_written(stamped, parts), filesystem=parts.files)
    kept = stamped.persist()
    if client is not None and seal is not None:
        from distributed import Event, wait

        wait(kept)
        Event(seal, client).set()
    return kept


def columns(ids: "dd.Series", scheme: str | Scheme = "icicle") -> "dd.DataFrame":
    """The time, node and sequence of IDs: ``frazil.pandas.unpack`` of each partition."""
    of = find_scheme(scheme)
    return ids.map_partitions(unpack, of, meta=unpack(ids._meta, of))  # noqa: SLF001 - as above


def audit(frame: "dd.DataFrame", column: str, scheme: str | Scheme = "icicle") -> Audit:
    """Count a column of IDs: repeated, missing and invalid ones, nodes, and their span.

    A shuffle of the column alone brings equal IDs together. Raises ConfigError if it is not a
    column of integers.
    """
    import dask

    check_audited(column, dict(frame.dtypes))
    of, only = find_scheme(scheme), frame[[column]]
    if only.npartitions > 1:
        only = only.shuffle(on=column)
    parts = [dask.delayed(partial(_count, column=column, scheme=of))(p) for p in only.to_delayed()]
    return joined(dask.compute(*parts))


def _is_set(seal: str) -> bool:
    """Whether a frame is complete, which an event on the scheduler tells its workers."""
    from distributed import Event

    return bool(Event(seal).is_set())


def _written(frame: Any, parts: Parts) -> list[str]:
    """Write a Parquet file for each partition; returns the files in the frame's order."""
    import dask
    from dask.dataframe.dispatch import pyarrow_schema_dispatch

    schema = pyarrow_schema_dispatch(frame._meta_nonempty, preserve_index=True)  # noqa: SLF001

    def write(part: Any) -> str:
        import pyarrow as pa

        return parts.write(pa.Table.from_pandas(part, schema, preserve_index=True))

    wanted = [dask.delayed(write)(part) for part in frame.to_delayed()]
    return parts.keep(lambda: dask.compute(*wanted))


def _count(frame: Any, *, column: str, scheme: Scheme) -> Audit:
    there = frame[column].dropna()
    return counted(there, len(frame) - len(there), scheme)


def _empty(kind: str) -> Any:
    import pandas as pd

    return pd.Series([], dtype=kind)


def _dataframe() -> Any:
    with needs("frazil.dask needs dask", "dask"):
        import dask.dataframe as dd
    return dd


def _client() -> Any:
    """The client of the cluster that would compute; None for threads and processes of this host."""
    from dask.base import get_scheduler

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scheduler_info") else None


def _is_one_host(client: Any) -> bool:
    """Whether all workers are on this host: no other host reaches the scheduler's address."""
    if client is None:
        return True
    address = client.scheduler.address
    return bool(address.startswith("inproc://") or is_loopback(address))
