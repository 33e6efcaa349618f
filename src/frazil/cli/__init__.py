"""The command ``frazil``: its subcommands by name, and one way out for everything that goes wrong.

A command that is typed to get one ID must not load a table printer and a Parquet reader first.
So this module knows each subcommand as a name and a line of help, and imports its module when it is
called; ``frazil --help`` imports none. Each module names its click command ``command``.

What a person gets from a failure is a message with the next step, and no traceback; what a script
gets is an exit code that says whether to fix the call, try again, or stop. Ctrl-C and a closed pipe
are no failures: they end the command without a word, with the codes that shells give them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from frazil import COMPILED, FrazilError, __version__
from frazil.cli.files.standard import OUTPUT, drop_output, settle
from frazil.errors import Misuse, Stopped, TryLater

__all__ = ["COMMANDS", "Failure", "main"]

COMMANDS = {
    "mint": "Print unique IDs, one a line.",
    "inspect": "Show what is in an ID: when, which node, every bit.",
    "plan": "How long a layout lasts, and how much it carries.",
    "claims": "List who holds which node number.",
    "doctor": "Examine a registry's store, and say what it survives.",
    "init": "Set a namespace up, ahead of its first use.",
    "script": "Print the script by which Redis servers issue IDs.",
    "stamp": "Add a column of IDs to a file.",
    "audit": "Find duplicates and disorder in a file of IDs.",
    "serve": "Issue IDs to programs of any language, over HTTP.",
    "torture": "Fork, kill and mislead an ID system, and count what repeats.",
    "bench": "Measure frazil on this machine.",
}
"""Each subcommand and what it does, in the order in which help lists them."""

_INTERRUPTED, _PIPE_CLOSED = 130, 141


class Failure(click.ClickException):
    """What was asked was done, and the answer is no; shown as a message without a traceback."""

    exit_code = 1


class _WrongCall(Failure):
    exit_code = 2


class _NotNow(Failure):
    exit_code = 3


class _Halt(Failure):
    exit_code = 4


class _OurBug(Failure):
    exit_code = 5


_KINDS: dict[type[FrazilError], type[Failure]] = {
    Misuse: _WrongCall,
    TryLater: _NotNow,
    Stopped: _Halt,
    FrazilError: _OurBug,
}


class _Commands(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"frazil.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(COMMANDS)}"
            ctx.fail(f"no command is called {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        with _one_way_out():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        with _one_way_out():
            result = super().invoke(ctx)
            sys.stdout.flush()
        return result

    def main(self, *args: Any, **options: Any) -> Any:
        settle()
        return super().main(*args, **options)


@contextmanager
def _one_way_out() -> Iterator[None]:
    """Turns all that may go wrong into a message and an exit code."""
    try:
        yield
    except FrazilError as error:
        kind = next(kind for cause, kind in _KINDS.items() if isinstance(error, cause))
        raise kind(str(error)) from error
    except click.UsageError as error:
        raise _with_url_option(error) from None
    except click.FileError as error:
        raise _WrongCall(error.format_message()) from error
    except BrokenPipeError:
        drop_output()
        raise click.exceptions.Exit(_PIPE_CLOSED) from None
    except OSError as error:
        if error.filename == OUTPUT:
            drop_output()
        where = f"{error.filename}: " if error.filename else ""
        raise _WrongCall(f"{where}{error.strerror or error}") from error
    except KeyboardInterrupt:
        raise click.exceptions.Exit(_INTERRUPTED) from None


def _with_url_option(error: click.UsageError) -> click.UsageError:
    """The error; if a URL was given where an option takes it, one that says so."""
    is_url = "extra argument" in error.message and "://" in error.message
    options = error.ctx.command.params if error.ctx else []
    if is_url and any("--url" in option.opts for option in options):
        return click.UsageError("a registry is named by an option here: --url URL", error.ctx)
    return error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__,
    message=f"frazil {__version__} ({'compiled' if COMPILED else 'interpreted'})",
)
def main() -> None:
    """Unique, compact, roughly time-ordered IDs, and what is in them.

    \b
      frazil mint            a new ID, unique on this host
      frazil inspect ID      when and where it was made, bit by bit
      frazil plan            every scheme side by side

    Each command explains itself, with examples: frazil mint --help

    \b
    Exit codes:
      0  done
      1  the answer is no: audit found a duplicate, inspect found no ID
      2  fix the call: an option, a text, a layout, a file
      3  try later: the registry does not answer, or has nothing to give now
      4  stopped, because going on could repeat an ID
      5  a bug in frazil; please report it
    """
