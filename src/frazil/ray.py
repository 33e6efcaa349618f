"""IDs for Ray: a key for each row of a dataset.

    ds = frazil.ray.stamp(ds, "id", "redis://ids.example")
    frazil.ray.audit(ds, "id").good

A dataset is a plan: each use computes its blocks again, and would give each row another ID. No ID
repeats, but a join of two results matches no row. So ``stamp`` computes the rows once and keeps
them:

- ``path=``: in Parquet files, which are read again. Nothing is lost with a node.
- else in the object store, by ``materialize``. Ray makes the blocks of a node that died again,
  without a message. So ``stamp`` seals the dataset when it is complete: from then on, an attempt to
  make a block again fails, and with it what needs the lost rows.
- ``once=True`` keeps nothing, for a dataset that is used exactly once, for example by
  ``write_parquet``.

Each attempt of a task has a claim of its own (``frazil.tables.attempt``).
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from frazil.inputs.url import UrlInput
from frazil.opening import TaskOptions
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as find_scheme
from frazil.system.extras import needs
from frazil.tables.attempt import make_attempt
from frazil.tables.audit import Audit, check_audited, counted, joined
from frazil.tables.new_column import check_kept, check_new
from frazil.tables.numbers import fields_of
from frazil.tables.parts import make_parts
from frazil.tables.reach import is_loopback

if TYPE_CHECKING:
    import ray.data

__all__ = ["audit", "stamp", "unpack"]

_PARTS = 8


class _Seal:
    """An actor that tells the workers whether a dataset is complete."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """The dataset is complete."""
        self._set = True

    def is_set(self) -> bool:
        """Whether it is."""
        return self._set


def _is_set(seal: Any) -> bool:
    return bool(_ray().get(seal.is_set.remote()))


def stamp(
    ds: "ray.data.Dataset",
    column: str,
    url: UrlInput | None = None,
    scheme: str | Scheme = "icicle",
    *,
    path: str | None = None,
    once: bool = False,
    text: bool = False,
    **options: Unpack[TaskOptions],
) -> "ray.data.Dataset":
    """The dataset with a new first column that has one new ID for each row, made now and kept.

    url, scheme and ``options`` (namespace, fields, lead, timeout, token) are those of
    ``frazil.open``; the lead is 1 s and the timeout 60 s if not given. ``path`` and ``once`` are
    described above. The column is int64, uint64 if that does not hold every ID, or a string with
    ``text``.

    Raises ConfigError for a dataset that has the column already, for a store that workers cannot
    share, and for IDs that no integer holds.
    """
    ray = _ray()
    check_kept(path, once=once)
    schema = ds.schema()
    check_new(column, schema.names if schema else ())
    seal = None if once or path else ray.remote(_Seal).options(num_cpus=0).remote()
    attempt = make_attempt(
        column, url, scheme, "Ray", one_host=_is_one_host(), text=text, unsigned=True,
        is_complete=partial(_is_set, seal) if seal else None, **options,
    )  # fmt: skip
    stamped = _by_block(ds, attempt.arrow_table)
    if once:
        return stamped
    if path is not None:
        return ray.data.read_parquet(_written(stamped, path))
    kept = stamped.materialize()
    if seal is not None:
        ray.get(seal.set.remote())
    return kept


def unpack(
    ds: "ray.data.Dataset", column: str, scheme: str | Scheme = "icicle"
) -> "ray.data.Dataset":
    """The dataset with more columns: the time (in UTC), node and sequence of its IDs.

    They are null for a number that is not an ID of the scheme. Raises ConfigError if the dataset
    has one of them already.
    """
    of = find_scheme(scheme)
    schema = ds.schema()
    for name in of.unpack_many([]):
        check_new(name, schema.names if schema else ())

    def unpacked(table: Any) -> Any:
        import pyarrow as pa

        ids = table[column].combine_chunks()
        missing = ids.is_null().to_numpy(zero_copy_only=False)
        found, none = fields_of(ids.fill_null(0) if ids.null_count else ids, missing, of)
        for name, values in found.items():
            kind = pa.timestamp("us", "UTC") if name == "time" else pa.int64()
            table = table.append_column(name, pa.array(values.view("int64"), kind, mask=none))
        return table

    return _by_block(ds, unpacked)


def audit(
    ds: "ray.data.Dataset", column: str, scheme: str | Scheme = "icicle", *, parts: int = _PARTS
) -> Audit:
    """Count a column of IDs: repeated, missing and invalid ones, nodes, and their span.

    A shuffle of the column alone, into ``parts`` parts, brings equal IDs together. Raises
    ConfigError if it is not a column of integers.
    """
    of, schema = find_scheme(scheme), ds.schema()
    if schema is not None:
        check_audited(column, dict(zip(schema.names, schema.types, strict=True)))

    def count(table: Any) -> Any:
        import pyarrow as pa

        there = table[column].drop_null()
        found = counted(there, table.num_rows - len(there), of)
        return pa.table({"audit": [found.to_json()]})

    shuffled = ds.select_columns([column]).repartition(parts, keys=[column])
    return joined(Audit.from_json(row["audit"]) for row in _by_block(shuffled, count).take_all())


def _written(ds: Any, path: str) -> str:
    """Write a dataset as Parquet, a file for each block; returns the directory."""
    parts = make_parts(path)

    def write(table: Any) -> Any:
        import pyarrow as pa

        return pa.table({"name": [parts.write(table)]})

    parts.keep(lambda: [row["name"] for row in _by_block(ds, write).take_all()])
    return parts.path


def _by_block(ds: Any, call: Callable[[Any], Any]) -> Any:
    """``map_batches`` with whole blocks, as Arrow tables without a copy."""
    return ds.map_batches(call, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)


def _ray() -> Any:
    with needs("frazil.ray needs ray", "ray"):
        import ray
        import ray.data
    return ray


def _is_one_host() -> bool:
    """Whether all workers are on this host: there is one node, reached through the loopback."""
    ray = _ray()
    nodes = ray.nodes() if ray.is_initialized() else []
    return len(nodes) == 1 and is_loopback(nodes[0]["NodeManagerAddress"])
