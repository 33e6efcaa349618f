"""Options that several commands share, so that one word means one thing in all of them.

A scheme is said in up to six options, and a command wants a ``Scheme``. ``scheme_options`` puts the
six on a command and hands it the one (``layout_options`` only the three that matter to numbers);
what does not fit together is refused before the command starts. The other decorators add options
whose values are used as they stand.
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
    """What makes a scheme: those of ``layout_options``, ``--encoding``, ``--prefix``, ``--check``.

    The command gets them as one argument, ``scheme``.
    """

    @wraps(run)
    def with_text(
        *args: Any,
        scheme: Scheme,
        encoding: str | None,
        prefix: str,
        check: bool,
        **rest: Any,
    ) -> None:
        chosen = make_scheme(scheme, encoding=encoding, prefix=prefix, check=check)
        run(*args, scheme=chosen, **rest)

    return _all(
        with_text,
        layout_options,
        click.option(
            "--encoding",
            type=click.Choice(list(DIGITS)),
            help="How IDs are written, if not as the scheme does.",
        ),
        click.option(
            "--prefix", default="", metavar="TEXT", help="Stands before each ID, like order_."
        ),
        click.option("--check", is_flag=True, help="End with a check character (base32 only)."),
    )


def layout_options(run: Command) -> Command:
    """``--scheme``, ``--field`` and ``--epoch``, for commands that show no text of an ID.

    The command gets them as one argument, ``scheme``.
    """

    @wraps(run)
    def with_layout(
        *args: Any, scheme: str, field: tuple[str, ...], epoch: str | None, **rest: Any
    ) -> None:
        run(*args, scheme=_chosen(scheme, field, epoch), **rest)

    return _all(
        with_layout,
        click.option(
            "-s",
            "--scheme",
            default="icicle",
            show_default=True,
            metavar="NAME|LAYOUT",
            help="A scheme by name (frazil plan lists them), or a layout text.",
        ),
        click.option(
            "--field",
            multiple=True,
            metavar="NAME=VALUE",
            help="The value of a constant of the layout; again for more.",
        ),
        click.option(
            "--epoch",
            metavar="MOMENT",
            help="Count time from here, like 2025-01-01 or 2025-01-01T00:00:00Z.",
        ),
    )


def registry_options(run: Command) -> Command:
    """``--url`` and ``--namespace``, as ``url`` and ``namespace``."""
    return _all(
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
    """The registry as the one thing that a command is about: ``url``, by default the usual one."""
    return _all(
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
        help="Whose IDs must not repeat among each other.",
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
        help="How many.",
    )(run)


def json_option(run: Command) -> Command:
    """``--json``, as ``as_json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON; IDs are strings in it."
    )(run)


def is_default(name: str) -> bool:
    """Whether the running command's option ``name`` was left out."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.DEFAULT


def layout_text(spec: str) -> str:
    """The layout text of a scheme's name; any other text as it stands."""
    return PRESETS[spec].layout if spec in PRESETS else spec


def _chosen(spec: str, fields: tuple[str, ...], epoch: str | None) -> Scheme:
    if epoch is None and layout_text(spec).rstrip().endswith("since ?"):
        raise click.UsageError(
            f"{spec!r} leaves its epoch to you; choose one and say it in every command, like "
            "--epoch 2025-01-01"
        )
    return make_scheme(spec, fields=_values(fields), epoch=epoch)


def _values(fields: tuple[str, ...]) -> dict[str, int]:
    """``cluster=3`` and its like as a mapping."""
    values: dict[str, int] = {}
    for text in fields:
        name, equals, number = text.partition("=")
        if name in values:
            raise click.UsageError(f"--field {name} is given twice; give it once")
        try:
            values[name] = int(number, 0)
        except ValueError:
            what = f"{number!r} is no whole number" if equals else "there is no '=' in it"
            raise click.UsageError(f"--field {text}: {what}; write it like cluster=3") from None
    return values


def _all(run: Command, *decorators: Callable[[Command], Command]) -> Command:
    """``run`` with the decorators, which help then lists in the order given."""
    for decorator in reversed(decorators):
        run = decorator(run)
    return run
