"""Options that several commands share, with the same names and meanings.

A scheme takes up to six options. ``scheme_options`` adds all six to a command and passes it one
``Scheme``; ``layout_options`` adds only the three that affect numbers. Options that contradict each
other are an error before the command starts. The other decorators pass their values unchanged.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from frazil.schemes.alphabet import DIGITS
from frazil.schemes.scheme import PRESETS, Scheme
from frazil.schemes.scheme import scheme as make_scheme
from frazil.system.host import default_url

__all__ = [
    "count_option",
    "is_default",
    "json_option",
    "layout_options",
    "layout_text",
    "namespace_option",
    "registry_argument",
    "registry_options",
    "scheme_options",
]

Command = Callable[..., None]


def scheme_options(run: Command) -> Command:
    """``layout_options``, ``--encoding``, ``--prefix`` and ``--check``, as one ``scheme``."""

    @wraps(run)
    def with_encoding(
        *args: Any,
        scheme: Scheme,
        encoding: str | None,
        prefix: str,
        check: bool,
        **rest: Any,
    ) -> None:
        complete = make_scheme(scheme, encoding=encoding, prefix=prefix, check=check)
        run(*args, scheme=complete, **rest)

    return _decorate(
        with_encoding,
        layout_options,
        click.option(
            "--encoding",
            type=click.Choice(list(DIGITS)),
            help="The encoding of IDs, instead of the scheme's.",
        ),
        click.option("--prefix", default="", metavar="TEXT", help="Before each ID, like order_."),
        click.option("--check", is_flag=True, help="Append a check character (base32 only)."),
    )


def layout_options(run: Command) -> Command:
    """``--scheme``, ``--field`` and ``--epoch``, as one ``scheme``, for commands without texts."""

    @wraps(run)
    def with_layout(
        *args: Any, scheme: str, field: tuple[str, ...], epoch: str | None, **rest: Any
    ) -> None:
        run(*args, scheme=_scheme(scheme, field, epoch), **rest)

    return _decorate(
        with_layout,
        click.option(
            "-s",
            "--scheme",
            default="icicle",
            show_default=True,
            metavar="NAME|LAYOUT",
            help="A scheme's name (frazil plan lists them), or a layout string.",
        ),
        click.option(
            "--field",
            multiple=True,
            metavar="NAME=VALUE",
            help="The value of a constant of the layout; repeatable.",
        ),
        click.option(
            "--epoch",
            metavar="MOMENT",
            help="Count time from this moment, like 2025-01-01 or 2025-01-01T00:00:00Z.",
        ),
    )


def registry_options(run: Command) -> Command:
    """``--url`` and ``--namespace``, as ``url`` and ``namespace``."""
    return _decorate(
        run,
        click.option(
            "-u",
            "--url",
            default=default_url,
            envvar="FRAZIL_URL",
            show_default="sqlite:, a file of this user on this host",
            show_envvar=True,
            metavar="URL",
            help="The registry: sqlite:///path, static:7, redis://host, …",
        ),
        namespace_option,
    )


def registry_argument(run: Command) -> Command:
    """The registry as an argument, ``url``, and ``--namespace``."""
    return _decorate(
        run,
        click.argument("url", default=default_url, envvar="FRAZIL_URL", metavar="[URL]"),
        namespace_option,
    )


def namespace_option(run: Command) -> Command:
    """``--namespace``, as ``namespace``."""
    return click.option(
        "--namespace",
        default="default",
        show_default=True,
        metavar="NAME",
        help="A set of IDs without duplicates, like orders.",
    )(run)


def count_option(run: Command) -> Command:
    """``-n``, as ``count``, at least 1."""
    return click.option(
        "-n",
        "--count",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="How many IDs.",
    )(run)


def json_option(run: Command) -> Command:
    """``--json``, as ``as_json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, with IDs as strings.")(
        run
    )


def is_default(name: str) -> bool:
    """Whether the option ``name`` of the running command has its default value."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def layout_text(spec: str) -> str:
    """The layout string of a scheme's name; any other string unchanged."""
    return PRESETS[spec].layout if spec in PRESETS else spec


def _scheme(spec: str, fields: tuple[str, ...], epoch: str | None) -> Scheme:
    if epoch is None and layout_text(spec).rstrip().endswith("since ?"):
        raise click.UsageError(
            f"{spec!r} has no epoch; choose one and pass it to every command, like "
            "--epoch 2025-01-01"
        )
    return make_scheme(spec, fields=_values(fields), epoch=epoch)


def _values(fields: tuple[str, ...]) -> dict[str, int]:
    """Texts like ``cluster=3`` as a mapping."""
    values: dict[str, int] = {}
    for text in fields:
        name, equals, number = text.partition("=")
        if name in values:
            raise click.UsageError(f"--field {name} is given twice; give it once")
        try:
            values[name] = int(number, 0)
        except ValueError:
            what = f"{number!r} is not a whole number" if equals else "it has no '='"
            raise click.UsageError(f"--field {text}: {what}; write it like cluster=3") from None
    return values


def _decorate(run: Command, *decorators: Callable[[Command], Command]) -> Command:
    """Apply the decorators, so that help lists their options in this order."""
    for decorator in reversed(decorators):
        run = decorator(run)
    return run
