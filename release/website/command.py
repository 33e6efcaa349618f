"""The reference of the command, from the command itself."""

import inspect
import re

import click

from frazil.cli import main

__all__ = ["page"]

_EXITS = re.compile(r"^\s*(\d)\s+(.+)$", re.MULTILINE)


def page() -> str:
    """Every command with its help, its arguments and its options."""
    context = click.Context(main, info_name="frazil")
    parts = ["# The command\n", _introduction()]
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        parts.append(_section(command, click.Context(command, context, name)))
    return "\n".join(parts)


def _introduction() -> str:
    exits = "\n".join(f"| {code} | {words} |" for code, words in _EXITS.findall(main.help or ""))
    return (
        "Each command prints the same as this page with `--help`. Results go to standard output, "
        "and messages to standard error. `FRAZIL_URL` names the registry for all of them.\n\n"
        f"| Exit code | Meaning |\n|---|---|\n{exits}\n"
    )


def _section(command: click.Command, context: click.Context) -> str:
    usage = " ".join(command.collect_usage_pieces(context))
    rows = [_row(option, context) for option in command.get_params(context)]
    options = "\n".join(row for row in rows if row)
    return (
        f"## frazil {context.info_name}\n\n```text\nfrazil {context.info_name} {usage}\n```\n\n"
        f"{_help(command)}\n\n| Option | Meaning |\n|---|---|\n{options}\n"
    )


def _help(command: click.Command) -> str:
    """Its help text; paragraphs that click keeps as they are become blocks."""
    paragraphs = inspect.cleandoc(command.help or "").partition("\f")[0].split("\n\n")
    return "\n\n".join(
        "```text\n" + inspect.cleandoc(text.removeprefix("\b\n")) + "\n```"
        if text.startswith("\b\n")
        else " ".join(text.split()).replace("<", "&lt;")
        for text in paragraphs
    )


def _row(parameter: click.Parameter, context: click.Context) -> str:
    record = parameter.get_help_record(context)
    if record is None:
        return ""
    names, words = (" ".join(text.split()).replace("|", "\\|") for text in record)
    return (
        f"| `{names}` | {words.replace('<', '&lt;').replace('*', '&#42;').replace('[', '&#91;')} |"
    )
