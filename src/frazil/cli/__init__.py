"""The command ``frazil``: its subcommands, and the exit code of each error.

``frazil mint`` must not import a table printer and a Parquet reader. So this module holds only the
name and a line of help for each subcommand, and imports its module when it is called;
``frazil --help`` imports none. Each module names its click command ``command``.

Another package adds a command by an entry point of the group ``frazil.commands``: its name, and the
click command. Its line in ``frazil --help`` is the summary of the package.

An error is shown as a message with the next step, without a traceback. Its exit code tells a script
whether to fix the call, try again or stop. Ctrl-C, SIGTERM and a closed pipe are not errors, and
have the exit codes that shells use for them. After a signal, a line says what the command has
written or changed.
"""

import errno
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import click

from frazil import COMPILED, FrazilError, __version__
from frazil.cli import _signals
from frazil.cli._standard_streams import OUTPUT, discard_output, prepare_streams
from frazil.errors import Misuse, Stopped, TryLater

__all__ = ["COMMANDS", "Failure", "main"]

COMMANDS = {
    "mint": "Print unique IDs, one per line.",
    "inspect": "Show the moment, the node and every bit of an ID.",
    "plan": "Show the lifetime and the capacity of a layout.",
    "claims": "List the holder of each node number.",
    "doctor": "Examine a registry's store, and report the events it survives.",
    "init": "Set up a namespace before its first use.",
    "script": "Print the Lua script with which Redis servers issue IDs.",
    "sql": "Print SQL that reads IDs, or makes them in PostgreSQL.",
    "stamp": "Add a column of IDs to a file.",
    "audit": "Find duplicates and disorder in files of IDs.",
    "serve": "Issue IDs over HTTP to programs in any language.",
    "bench": "Measure the speed of frazil on this machine.",
    "completion": "Print the script that completes commands in a shell.",
}
"""Each subcommand of frazil with its help line, in the order of ``frazil --help``."""

_HINTS = {
    errno.EACCES: "; name another file, or get permission to use this one",
    errno.EROFS: "; name a file in another place",
    errno.ENOENT: "; name another file, or create its folder",
    errno.ENOSPC: "; free some space, or write to another file",
}
_NUMBERS = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
    "is not a valid float": "is not a number",
}
_PIPE_CLOSED = 141
_CLICK_LEAST = 50  # columns; click writes for a wider terminal by itself
_TEXT_INDENT = 4
_ELSEWHERE = {
    "torture": "frazil torture is a package of its own; in a checkout of frazil, run: pip install "
    "./evidence/torture"
}


@cache  # it reads the metadata of every package
def _further() -> dict[str, Any]:
    """The commands of other installed packages: their entry points, by name."""
    from importlib.metadata import entry_points  # slow to load

    found = entry_points(group="frazil.commands")
    return {point.name: point for point in found if point.name not in COMMANDS}


def _help_lines() -> dict[str, str]:
    """Every command with its help line."""
    further = {name: point.dist.metadata["Summary"] for name, point in _further().items()}
    return COMMANDS | further


def _after_error(message: str) -> str:
    """The message with its lines broken between words, the first one after "Error: "."""
    from frazil.cli.show.terminal import wrapped

    start = "Error: "
    return wrapped(f"{start}{message}").removeprefix(start)


class Failure(click.ClickException):
    """The command has a negative result; shown as a message without a traceback."""

    exit_code = 1

    def format_message(self) -> str:
        """The message for a terminal."""
        return _after_error(self.message)


_CODES = {Misuse: 2, TryLater: 3, Stopped: 4, FrazilError: 5}
_FAILURES = {
    error: type("Failure", (Failure,), {"exit_code": code}) for error, code in _CODES.items()
}


class _Formatter(click.HelpFormatter):
    """click's formatter, and one column of text on a narrow terminal.

    click writes help at least 50 columns wide, in two columns. A terminal of 40 columns breaks its
    words, and leaves ten columns for the text beside an option. So there each option has a line,
    and its text stands below it.
    """

    def __init__(self, *, width: int | None, max_width: int | None) -> None:
        from shutil import get_terminal_size  # slow to load

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


class _Context(click.Context):
    """The context of every command."""

    formatter_class = _Formatter

    def __exit__(self, *found: object) -> bool | None:
        """See click.Context. An error of click's parser does not know its command."""
        error = found[1]
        if isinstance(error, click.UsageError) and error.ctx is None:
            error.ctx = self
        return super().__exit__(*found)  # type: ignore[arg-type]


class _Commands(click.Group):
    """A group that imports a command when it is called."""

    context_class = _Context

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(_help_lines())

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        command: click.Command
        if cmd_name in COMMANDS:
            command = import_module(f"frazil.cli.{cmd_name}").command
        elif cmd_name in _further():
            command = _further()[cmd_name].load()
        else:
            return None
        command.context_class = _Context
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        lines = _help_lines()
        names = [name for name in lines if name.startswith(incomplete)]
        own = [CompletionItem(name, help=lines[name]) for name in names]
        return own + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and name not in _further() and not name.startswith("-"):
            ctx.fail(_ELSEWHERE.get(name) or f"unknown command {name!r}; {_hint(name)}")
        if name in COMMANDS and name != "serve":  # others handle signals themselves
            ctx.with_resource(_signals.handled())
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_help_lines().items()))

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _exit_codes():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _exit_codes():
            result = super().invoke(ctx)
            sys.stdout.flush()
        return result

    def main(self, *args: Any, **options: Any) -> Any:
        prepare_streams()
        return super().main(*args, **options)


def _hint(name: str) -> str:
    """What may be meant by an unknown command."""
    from difflib import get_close_matches

    near = get_close_matches(name, _help_lines(), n=1)
    return f"did you mean {near[0]!r}?" if near else f"commands: {', '.join(_help_lines())}"


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Turn every expected exception into a message and an exit code."""
    try:
        yield
    except FrazilError as error:
        failure = next(_FAILURES[kind] for kind in _FAILURES if isinstance(error, kind))
        raise failure("\n".join((str(error), *getattr(error, "__notes__", ())))) from error
    except click.UsageError as error:
        raise _usage_error(error) from None
    except click.FileError as error:
        raise _FAILURES[Misuse](f"{error.format_message()}; name another file") from error
    except BrokenPipeError:
        discard_output()
        raise click.exceptions.Exit(_PIPE_CLOSED) from None
    except OSError as error:
        if error.filename == OUTPUT:
            discard_output()
        where = f"{error.filename}: " if error.filename else ""
        hint = _HINTS.get(error.errno or 0, "")
        raise _FAILURES[Misuse](f"{where}{error.strerror or error}{hint}") from error
    except KeyboardInterrupt as stop:
        if _signals.at_once():
            discard_output()
            stop.args = ("the last line may be incomplete",)
        click.echo(": ".join(("Stopped", *map(str, stop.args))), err=True)
        raise click.exceptions.Exit(_signals.exit_code()) from None


def _usage_error(error: click.UsageError) -> click.UsageError:
    """The error in plain words.

    For a URL or a count that was passed as an argument, it names the option; for a negative number,
    it says how to pass it. Its last line is a call that is valid.
    """
    message = error.format_message()
    for said, plain in _NUMBERS.items():
        message = message.replace(said, plain)
    is_url = re.search(r"extra arguments?\b.*[( ][a-z]+:", message)
    options = error.ctx.command.params if error.ctx else []
    is_number = isinstance(error, click.NoSuchOption) and re.fullmatch("-[0-9]", error.option_name)
    if is_number and any(isinstance(option, click.Argument) for option in options):
        message += (
            " To pass a text that begins with '-', put -- before it, like: frazil inspect -- -5"
        )
    if is_url and any("--url" in option.opts for option in options):
        message = "this command takes the registry as --url URL"
    count = re.search(r"extra argument \(([0-9]+)\)", message)
    if count and any("--count" in option.opts for option in options):
        name = error.ctx.info_name if error.ctx else ""
        message = f"the number of IDs is an option: frazil {name} -n {count[1]}"
    if error.ctx and (example := _example(error.ctx, message)):
        message += f"\nFor example:\n  {example}"
    return click.UsageError(_after_error(message), error.ctx)


def _example(ctx: click.Context, message: str) -> str:
    """The example of a command's help with most of the options and URLs of a message."""
    own = "frazil " if ctx.parent is None else f"frazil {ctx.info_name} "
    lines = [line.strip() for line in (ctx.command.help or "").splitlines()]
    examples = [re.split("  +", line)[0] for line in lines if own in f"{line} "]
    if own in message:
        return ""
    words = re.compile(r"(?<!\w)--?[a-z][a-z-]*|[a-z]+:")
    named = set(words.findall(message))
    return max(examples, key=lambda line: len(named & {*words.findall(line)}), default="")


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__,
    message=f"frazil {__version__} ({'compiled' if COMPILED else 'interpreted'})",
)
def main() -> None:
    """Make and inspect unique, compact, roughly time-ordered IDs.

    \b
      frazil mint            a new ID, unique on this host
      frazil inspect ID      its moment and its node, bit by bit
      frazil plan            all schemes side by side

    Help with examples for a command: frazil mint --help

    \b
    Exit codes:
      0  success
      1  a negative result: audit found a duplicate, inspect found no ID
      2  fix the call: an option, an ID, a layout, a file
      3  try later: the registry does not answer, or has no free node number
      4  stopped, because an ID could repeat
      5  a bug in frazil; please report it
    """
