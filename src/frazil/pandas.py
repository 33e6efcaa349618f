"""IDs for pandas: a key for each row.

``frame["id"] = ids()`` writes one ID into every row, and a column of uint64 becomes float64 when it
meets int64 in ``concat`` or ``merge``, which changes the last digits of IDs. ``stamp`` makes one ID
for each row and an int64 column where the scheme allows it.

    frame = frazil.pandas.stamp(frame, "id", ids)

    frazil.pandas.unpack(frame["id"])

``unpack`` reads their time, node and sequence.
"""

from typing import TYPE_CHECKING

from frazil.generator.generator import Generator
from frazil.generator.history import History
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as find_scheme
from frazil.tables.new_column import check_generator, check_new, check_time, column_type, new_column
from frazil.tables.numbers import fields_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["stamp", "unpack"]


def stamp(
    frame: "pd.DataFrame",
    column: str,
    ids: Generator | History,
    *,
    text: bool = False,
    time_column: str | None = None,
) -> "pd.DataFrame":
    """The frame with a new first column that has one new ID for each row.

    The column is int64; uint64 if int64 does not hold every ID of the scheme; ``str`` with
    ``text=True``. time_column: a column of moments; each row gets an ID of its own one, and ``ids``
    is a ``frazil.history``. Raises ConfigError if the frame has the column already, and if no
    integer type holds the IDs.
    """
    check_generator(ids, timed=time_column is not None)
    check_new(column, frame.columns)
    check_time(time_column, frame.columns)
    kind = column_type(ids.scheme, text=text)
    stamped = frame.copy()
    moments = None if time_column is None else frame[time_column]
    stamped.insert(0, column, new_column(ids, len(frame), kind, moments))
    return stamped


def unpack(ids: "pd.Series", scheme: str | Scheme = "icicle") -> "pd.DataFrame":
    """The time, node, sequence and run of a column of IDs, as far as the scheme has them.

    The time is a datetime in µs with the time zone UTC, the others are ``Int64``. A missing value,
    and a number that is not an ID of the scheme, has ``NaT`` and ``NA``. Raises Misuse for a column
    of floats or texts, LayoutError for IDs of more than 64 bits.
    """
    import pandas as pd

    missing = ids.isna().to_numpy()
    found, none = fields_of(ids.fillna(0) if missing.any() else ids, missing, find_scheme(scheme))
    columns = {
        name: pd.Series(values, ids.index).mask(none).dt.tz_localize("UTC")
        if name == "time"
        else pd.Series(pd.arrays.IntegerArray(values, none), ids.index)
        for name, values in found.items()
    }
    return pd.DataFrame(columns, ids.index)
