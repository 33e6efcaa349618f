"""Options that several commands share, with the same names and meanings.

``scheme_options`` adds the options of a scheme to a command and passes it one ``Scheme``. A
command that uses a registry also takes the registry and the namespace, and gets all of them as one
``OpenRequest``: ``request_options`` and ``registry_argument``. Options that contradict each other
are an error before the command starts.
"""

from collections.abc import Callable
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any

import click

from frazil.schemes.alphabet import ENCODINGS
from frazil.schemes.presets import PRESETS
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as make_scheme

if TYPE_CHECKING:
    from frazil.generator.request import OpenRequest
    from frazil.opening import OpenOptions


def schemes_like(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of schemes that complete a word in a shell."""
    return [name for name in PRESETS if name.startswith(incomplete)]


def encodings_like(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The names of encodings that complete a word in a shell."""
    return [name for name in ENCODINGS if name.startswith(incomplete)]


Command = Callable[..., None]
Decorator = Callable[[Command], Command]

_LAYOUT = (
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
_TEXT = (
    click.option(
        "--encoding",
        metavar="NAME|alphabet:CHARACTERS",
        shell_complete=encodings_like,
        help=f"The encoding of IDs, instead of the scheme's: {', '.join(ENCODINGS)}, or your own.",
    ),
    click.option("--prefix", default="", metavar="TEXT", help="A prefix for each ID, like order_."),
    click.option("--check", is_flag=True, help="Texts end in one or two check characters."),
    click.option(
        "--group",
        type=int,
        default=0,
        metavar="N",
        help="Write groups of N characters, and read them as people type them.",
    ),
)
_KEY = click.option(
    "--key",
    multiple=True,
    metavar="[N=]env:NAME|file:PATH",
    help="Texts are encrypted with this key. Number several keys; new texts have the last.",
)
_WITH_ARGUMENT = ("claims", "doctor", "init")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, with IDs as strings."
)


def svg_option(words: str) -> Callable[[Command], Command]:
    """``--svg``, as ``picture``."""
    picture = click.File("w", encoding="utf-8", lazy=True)
    return click.option("--svg", "picture", type=picture, metavar="FILE", help=words)


def scheme_options(run: Command, *, default: str | None = None, keyed: bool = True) -> Command:
    """The options of a scheme, as ``scheme``; keyed: with ``--key``.

    default: what help shows as that of ``--scheme``.
    """
    key = (_KEY,) if keyed else ()
    return decorate(_with_scheme(run), _scheme(default), *_LAYOUT, *_TEXT, *key)


def request_options(
    run: Command, *, namespace: str | None = None, with_text: bool = True
) -> Command:
    """``--url``, ``--namespace`` and the options of a scheme, as ``request``.

    If the command has ``--lead`` and ``--timeout``, they are part of the request. namespace: the
    default that help shows. with_text: also the options of texts.
    """
    url = click.option(
        "-u",
        "--url",
        show_default="FRAZIL_URL, else sqlite:, a file of this user on this host",
        metavar="URL",
        help="The registry: sqlite:///path, static:7, redis://host, …",
    )
    text = (*_TEXT, _KEY) if with_text else ()
    rest = (_namespace(namespace), _scheme(), *_LAYOUT, *text)
    return decorate(_with_scheme(_with_request(run)), url, *rest)


def registry_argument(run: Command, *, scheme: str | None = None) -> Command:
    """The registry as an argument, ``--namespace`` and the options of a layout, as ``request``.

    scheme: what help shows as the default of ``--scheme``.
    """
    url = click.argument("url", required=False, metavar="[URL]")
    rest = (_namespace(), _scheme(scheme), *_LAYOUT)
    return decorate(_with_scheme(_with_request(run)), url, *rest)


def _scheme(shown: str | None = None) -> Decorator:
    return click.option(
        "-s",
        "--scheme",
        default="icicle",
        show_default=shown or True,
        metavar="NAME|LAYOUT",
        shell_complete=schemes_like,
        help="A scheme's name (frazil plan lists them), or a layout string.",
    )


def _namespace(shown: str | None = None) -> Decorator:
    return click.option(
        "--namespace",
        default="default",
        show_default=shown or True,
        metavar="NAME",
        help="A set of IDs without duplicates, like orders.",
    )


def is_default(*names: str) -> bool:
    """Whether these options of the running command have their default values."""
    source = click.get_current_context().get_parameter_source
    return all(source(name) is click.core.ParameterSource.DEFAULT for name in names)


def typed_command(name: str, request: "OpenRequest") -> str:
    """Another command for the same request, with the options that were typed for this one."""
    from shlex import join  # slow to load, and for messages only

    from frazil.registries.commands import options_of

    words = ["frazil", name]
    if not is_default("url"):
        words += [*([] if name in _WITH_ARGUMENT else ["--url"]), str(request.url)]
    return join([*words, *options_of(request.namespace, request.scheme)])


def _with_request(run: Command) -> Command:
    """Pass the command a request, instead of its parts."""

    @wraps(run)
    def with_request(
        *,
        url: str | None,
        scheme: Scheme,
        namespace: str,
        lead: str | None = None,
        timeout: str = "10s",
        **rest: Any,
    ) -> None:
        from frazil.generator.request import make_request  # no part of a command without a request

        options: OpenOptions = {"namespace": namespace, "lead": lead or 0, "timeout": timeout}
        run(request=make_request(url, scheme, **options), **rest)

    return with_request


def _with_scheme(run: Command) -> Command:
    """Pass the command a scheme, instead of the values of its options."""

    @wraps(run)
    def with_scheme(*, scheme: str, field: tuple[str, ...], epoch: str | None, **rest: Any) -> None:
        layout = PRESETS[scheme].layout if scheme in PRESETS else scheme
        if epoch is None and layout.rstrip().endswith("since ?"):
            raise click.UsageError(
                f"{scheme!r} has no epoch; choose one and pass it to every command, like "
                "--epoch 2025-01-01"
            )
        options = ("encoding", "prefix", "check", "group")
        text = {name: rest.pop(name) for name in options if name in rest}
        key = rest.pop("key", ()) or None
        made = make_scheme(scheme, fields=_values(field), epoch=epoch, key=key, **text)
        run(scheme=made, **rest)

    return with_scheme


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


def decorate(run: Command, *options: Decorator) -> Command:
    """Add options to a command; help lists them in this order."""
    return reduce(lambda decorated, option: option(decorated), reversed(options), run)
