"""IDs for DuckDB: SQL functions that make and read IDs.

DuckDB calls a function once for a constant expression, or once for each distinct argument, unless
the function is declared to have side effects: 2,000 rows would get one ID. And a function of plain
Python is called for each row. ``register`` declares the side effects, and makes the IDs of a vector
(about 2,000 rows) in one call::

    frazil.duckdb.register(con, ids)
    con.execute("create table orders as select frazil_id() as id, * from 'orders.parquet'")
    con.sql("select frazil_time(id), frazil_node(id) from orders")

The functions that read IDs are macros: DuckDB's own shifts and masks. They refuse DOUBLE, which
does not hold an ID, and are NULL for a number that is not an ID of the scheme. A query that is run
again makes new IDs, so keep them in a table, not in a view.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from frazil.errors import ConfigError
from frazil.generator.generator import Generator
from frazil.generator.history import History
from frazil.layout.field import Role
from frazil.schemes.scheme import Scheme
from frazil.sql.parts import value_of
from frazil.system.extras import needs
from frazil.tables.new_column import check_generator, column_type, new_column
from frazil.tables.numbers import time_us

with needs("frazil.duckdb needs duckdb", "duckdb"):
    import duckdb
    from duckdb.func import PythonUDFType

__all__ = ["register"]

_TYPES = {"int64": "BIGINT", "uint64": "UBIGINT", "text": "VARCHAR"}


def register(
    con: duckdb.DuckDBPyConnection,
    ids: Generator | History,
    *,
    name: str = "frazil",
    text: bool = False,
) -> None:
    """Add the functions of a generator to a connection; a second call replaces them.

    ``frazil_id()`` is a new ID for each row: BIGINT; UBIGINT if that does not hold every ID of the
    scheme; VARCHAR with ``text=True``. ``frazil_time(id)`` (TIMESTAMPTZ), ``frazil_node(id)``
    and ``frazil_sequence(id)`` read a BIGINT or UBIGINT, as far as the scheme has them, and
    ``frazil_text(id)`` is the text form. With a ``frazil.history``, ``frazil_at(created_at)`` takes
    the place of ``frazil_id()``: an ID of each row's moment. ``name`` replaces ``frazil`` in these
    names, for a second scheme. Raises ConfigError for another kind of ``ids`` and for a name that
    is not an identifier.
    """
    timed = isinstance(ids, History)
    check_generator(ids, timed=timed)
    if not (name.isidentifier() and name.isascii()):
        raise ConfigError(f"name={name!r} is invalid; use letters, digits and _", value=name)
    kind = column_type(ids.scheme, text=text)
    # The length of the argument's vector is the number of IDs; a function without arguments does
    # not get it.
    _function(
        con,
        f"{name}_new",
        lambda rows: new_column(ids, len(rows), kind, rows),
        _TYPES[kind],
        takes="BIGINT" if timed else "BOOLEAN",
        new=True,
    )
    made = f"at(moment) as {name}_new(epoch_us(moment))" if timed else f"id() as {name}_new(true)"
    con.execute(f"create or replace temp macro {name}_{made}")
    for function, body in _readers(ids.scheme).items():
        con.execute(f"create or replace temp macro {name}_{function}(id) as {body}")
    if ids.scheme.bits <= 64:
        _function(con, f"{name}_written", ids.scheme.format_many, "VARCHAR")
        written = f"{name}_written({_valid(ids.scheme, _NUMBER)})"
        con.execute(f"create or replace temp macro {name}_text(id) as {written}")


def _function(
    con: duckdb.DuckDBPyConnection,
    name: str,
    call: Callable[[Any], Any],
    returns: str,
    *,
    takes: str = "UBIGINT",
    new: bool = False,
) -> None:
    """Register a function of one column; ``new`` says whether each call makes new IDs."""
    import pyarrow as pa

    with suppress(duckdb.Error):  # if it does not exist yet
        con.remove_function(name)
    options: dict[str, Any] = {"null_handling": "special"} if new else {}
    con.create_function(
        name,
        lambda column: pa.array(call(column)),
        [takes],
        returns,
        type=PythonUDFType.ARROW,
        side_effects=new,
        **options,
    )


_NUMBER = "try_cast(id & id as ubigint)"  # ``&`` refuses DOUBLE


def _valid(scheme: Scheme, value: str) -> str:
    """A value; NULL where the number is not an ID of the scheme."""
    mask, constants = scheme.constants
    same = f"{_NUMBER} & {mask}::ubigint = {constants}::ubigint"
    return f"CASE WHEN {_NUMBER} <= {scheme.id_max}::ubigint AND {same} THEN {value} END"


def _readers(scheme: Scheme) -> dict[str, str]:
    """The body of each macro that reads an ID."""
    if scheme.bits > 64:
        return {}
    found = {}
    for role in ("node", "sequence"):
        if scheme.layout.bits_of(role):
            found[role] = _value(scheme, role)
    if scheme.layout.bits_of("time"):
        tick_us, epoch_us = time_us(scheme)
        found["time"] = f"make_timestamptz({_value(scheme, 'time')} * {tick_us} + {epoch_us})"
    return {function: _valid(scheme, body) for function, body in found.items()}


def _value(scheme: Scheme, role: Role) -> str:
    return f"({value_of(scheme.positions(role), _NUMBER)})::bigint"
