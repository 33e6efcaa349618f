"""Help texts on a narrow terminal, and the command of a usage error.

Each option has a line, and its text stands below it.

click writes help at least 50 columns wide, in two columns. A terminal of 40 columns breaks its
words, and leaves ten columns for the text beside an option.
"""

from collections.abc import Iterable
from shutil import get_terminal_size

import click

_CLICK_LEAST = 50  # columns; click writes for a wider terminal by itself
_TEXT_INDENT = 4


class _Formatter(click.HelpFormatter):
    """click's formatter, and one column of text on a narrow terminal."""

    def __init__(self, *, width: int | None, max_width: int | None) -> None:
        columns = get_terminal_size().columns
        self._narrow = width is None and columns < _CLICK_LEAST + 2
        super().__init__(width=columns if self._narrow else width, max_width=max_width)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        if not self._narrow:
            super().write_dl(list(rows), col_max, col_spacing)
            return
        for name, text in rows:
            self.write(f"{' ' * self.current_indent}{name}\n")
            self.current_indent += _TEXT_INDENT
            self.write_text(text)
            self.current_indent -= _TEXT_INDENT


class HelpContext(click.Context):
    """The context of every command."""

    formatter_class = _Formatter

    def __exit__(self, *found: object) -> bool | None:
        """See click.Context. An error of click's parser does not know its command."""
        error = found[1]
        if isinstance(error, click.UsageError) and error.ctx is None:
            error.ctx = self
        return super().__exit__(*found)  # type: ignore[arg-type]
