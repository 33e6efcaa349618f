"""The memory of a command that reads files, and what its parts may use of it.

Python, numpy, pyarrow and DuckDB need some 250 MB before the first row, with the batches that are
under way. DuckDB gets what remains; it writes to temporary files what does not fit. So the bound is
one for the whole process, and it has a least value.
"""

import re
from dataclasses import dataclass

import click

__all__ = ["Memory", "memory_option"]

_UNITS = {"MiB": 1 << 20, "GiB": 1 << 30}
_LEAST_BYTES = 512 << 20
_OWN_BYTES = 320 << 20
_AUDIT_BYTES = 256 << 20
_BATCH_BYTES = 16 << 20
_BATCH_ROWS = 122_880  # a row group of DuckDB


@dataclass(frozen=True)
class Memory:
    """The bound of the process, in bytes."""

    size_bytes: int

    @property
    def database_bytes(self) -> int:
        """The bound of DuckDB."""
        return self.size_bytes - _OWN_BYTES

    @property
    def search_bytes(self) -> int:
        """The bound of DuckDB where it is alone."""
        return self.size_bytes - _AUDIT_BYTES

    @property
    def buffer_bytes(self) -> int:
        """How much of a text file DuckDB reads at once."""
        return 16 << 20 if self.size_bytes >= 1 << 30 else 8 << 20

    @property
    def line_bytes(self) -> int:
        """The longest row of CSV that DuckDB reads."""
        return self.buffer_bytes // 2

    def rows_for(self, size_bytes: int, rows: int) -> int:
        """Rows of a batch, in a table of ``rows`` rows and ``size_bytes`` bytes."""
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(size_bytes, 1)))


def _memory(ctx: click.Context, param: click.Parameter, value: str) -> Memory:
    match = re.fullmatch(r"([0-9]{1,9}) ?(MiB|GiB)", value)
    size_bytes = int(match[1]) * _UNITS[match[2]] if match else 0
    if size_bytes < _LEAST_BYTES:
        raise click.BadParameter(f"{value!r}; write 512MiB or more, like 4GiB", ctx, param)
    return Memory(size_bytes)


memory_option = click.option(
    "--memory",
    callback=_memory,
    default="1GiB",
    metavar="SIZE",
    show_default=True,
    help="The most memory to use; the rest is written to temporary files.",
)
