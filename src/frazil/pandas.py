"""IDs for pandas: a key for each row.

``frame["id"] = ids()`` writes one ID into every row, and a column of uint64 becomes float64 when it
meets int64 in ``concat`` or ``merge``, which changes the last digits of IDs. ``stamp`` makes one ID
for each row and an int64 column where the scheme allows it.

    frame = frazil.pandas.stamp(frame, "id", ids)

To read IDs, ``pandas.DataFrame(scheme.unpack_many(frame["id"]))`` has their time, node and
sequence.
"""

from typing import TYPE_CHECKING

from frazil.errors import ConfigError
from frazil.generator.generator import Generator
from frazil.tables.new_column import check_new, column_type, new_column

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["stamp"]


def stamp(
    frame: "pd.DataFrame", column: str, ids: Generator, *, text: bool = False
) -> "pd.DataFrame":
    """The frame with a new last column that has one new ID for each row.

    The column is int64; uint64 if int64 does not hold every ID of the scheme; ``str`` with
    ``text=True``. Raises ConfigError if the frame has the column already, and if no integer type
    holds the IDs.
    """
    if not isinstance(ids, Generator):
        raise ConfigError(f"ids must be a generator of frazil.open, not {type(ids).__name__}")
    check_new(column, frame.columns)
    kind = column_type(ids.scheme, text=text)
    return frame.assign(**{column: new_column(ids, len(frame), kind)})
