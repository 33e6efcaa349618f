"""A column of new IDs for a table, one for each row.

Tables have signed integers. pandas turns an unsigned column beside a signed one into float64, and
Spark and most databases have no unsigned type at all. So a column is int64 where the scheme's IDs
fit, and the text form where no integer does.
"""

from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigError
from frazil.generator.generator import Generator
from frazil.generator.history import History
from frazil.generator.local import open_request
from frazil.generator.request import OpenRequest
from frazil.schemes.scheme import Scheme

if TYPE_CHECKING:
    from numpy.typing import NDArray


def column_type(scheme: Scheme, *, text: bool = False, unsigned: bool = True) -> str:
    """``"int64"``, ``"uint64"`` or ``"text"``: what a column of a scheme's IDs is made of.

    text: whether the text form is requested. unsigned: whether the table has uint64. Raises
    ConfigError if no integer of the table holds every ID.
    """
    if text:
        return "text"
    if scheme.signed_safe:
        return "int64"
    if unsigned and scheme.bits <= 64:
        return "uint64"
    held = "64 bits" if unsigned else "a signed integer of 64 bits"
    raise ConfigError(
        f"IDs of scheme {scheme.name!r} go up to {scheme.id_max}, more than {held} hold; give "
        "text=True for a column of their text form, or use a scheme that fits a BIGINT",
        value=scheme.id_max,
    )


def check_generator(ids: object, *, timed: bool = False) -> None:
    """Raise ConfigError for what is no generator; timed: for what is no history."""
    if isinstance(ids, History) and not timed:
        raise ConfigError("ids is a history; name the column of the rows' moments: time_column=")
    if not isinstance(ids, History if timed else Generator):
        what = "a history of frazil.history" if timed else "a generator of frazil.open"
        raise ConfigError(f"ids must be {what}, not {type(ids).__name__}")


def opened(request: OpenRequest, time_column: str | None) -> Generator | History:
    """What makes the IDs of rows: of now, or of their own moments if they have a column of these.

    A history claims its region with its first row, so that a table without any uses up none.
    """
    return open_request(request) if time_column is None else History(request, None, None)


def new_column(
    ids: Generator | History, count: int, kind: str, moments: Any = None
) -> "NDArray[Any]":
    """``count`` new IDs; ``kind`` is that of ``column_type``. moments: the rows', for a history."""
    made: Any = ids  # one signature for each dtype
    dtype = "int64" if kind == "int64" else "uint64"
    array: NDArray[Any]
    array = made.at_many(moments, dtype) if isinstance(ids, History) else made.array(count, dtype)
    return ids.scheme.format_many(array) if kind == "text" else array


def check_time(time_column: str | None, columns: Any) -> None:
    """Raise ConfigError if a table has no such column of moments, or several."""
    count = 1 if time_column is None else list(columns).count(time_column)
    if count > 1:
        raise ConfigError(
            f"the table has {count} columns {time_column!r}; rename those that are not the moments",
            value=time_column,
        )
    if not count:
        raise ConfigError(
            f"the table has no column {time_column!r}; it has {', '.join(map(str, columns))}",
            value=time_column,
        )


def check_new(column: str, columns: Any) -> None:
    """Raise ConfigError if a table has the column already: its keys would be lost."""
    if column in list(columns):
        raise ConfigError(
            f"the table has a column {column!r} already; give the IDs another name, or drop it "
            "first",
            value=column,
        )


def check_kept(path: object, *, once: bool) -> None:
    """Raise ConfigError if rows are to be kept in files, and not to be kept at all."""
    if path is not None and once:
        raise ConfigError("path= keeps the rows and once=True does not; pass one of them")
