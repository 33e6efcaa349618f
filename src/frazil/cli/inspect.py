"""``frazil inspect``: what is in an ID.

Somebody has an ID, or a line of a log with one in it, and asks when and where it was made. They
may not know its encoding, or its scheme. So a text is read in every encoding; it is taken for an
ID of the scheme that was named; without one, for the default scheme's if that gives a sensible
moment, and else for one of the scheme that fits best, with the others and the reasons shown.

The drawing is ``drawing.draw``'s, and colour is laid over it: without colour nothing is missing.
"""

import sys
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

import click

from frazil.cli import Failure
from frazil.cli._options import is_default, json_option, scheme_options
from frazil.cli.show import terminal
from frazil.inputs.duration import ago
from frazil.layout.drawing import COLOURS, draw, svg
from frazil.layout.layout import Layout
from frazil.reading.guess import Fit
from frazil.reading.search import Finding, Search
from frazil.schemes.alphabet import DIGITS
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text, wall_us

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["command"]

_DRAWING_COLUMNS = 100
_OTHERS_SHOWN = 4
_NEAR_BITS = 4.0  # a guess that is this much weaker could still be right


@click.command
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@scheme_options
@click.option("--guess", is_flag=True, help="Rank all schemes, even if the default one fits.")
@click.option(
    "--svg",
    "picture",
    type=click.File("w", encoding="utf-8", lazy=True),
    metavar="FILE",
    help="Draw the (first) ID into this file as well.",
)
@json_option
def command(
    *,
    texts: tuple[str, ...],
    scheme: Scheme,
    guess: bool,
    picture: IO[str] | None,
    as_json: bool,
) -> None:
    """Show what is in an ID: when, which node, every bit.

    TEXT is an ID in any encoding, or a line with IDs in it; without one, lines are read from
    standard input. Without --scheme the ID is taken for one of the default scheme if that makes
    identity, and otherwise for one of the scheme that fits it best.

    \b
      frazil inspect 1375354384404488193
      frazil inspect --scheme tsid 0R2Q8TZC3G401
      frazil inspect --guess 175928847299117063
      tail -n 1 app.log | frazil inspect --json
    """
    named = not all(map(is_default, ("scheme", "field", "epoch")))
    strict = not all(map(is_default, ("encoding", "prefix", "check")))
    if guess and (named or strict):
        raise click.UsageError(
            "--guess asks which scheme it is, so leave --scheme and its like out"
        )
    search = Search(scheme, wall_us(), sure=named or strict, guess=guess, strict=strict)
    if not texts and sys.stdin.isatty():
        raise click.UsageError(
            "no ID was given; name one, or pipe lines with IDs into this command"
        )
    missed: list[str] = []
    found = _findings(texts, search, missed)
    if picture is not None:
        found = _drawn(found, picture)
    if as_json:
        terminal.echo_json(_as_json(finding, search.now_us) for finding in found)
    else:
        for i, finding in enumerate(found):
            click.echo("\n" * (i > 0), nl=False)
            _show(finding, search.now_us)
    if missed:
        raise Failure("\n".join(missed))


def _findings(texts: tuple[str, ...], search: Search, missed: list[str]) -> Iterator[Finding]:
    """The IDs in texts, or in the lines of standard input; why there are none goes to ``missed``.

    Of a log only some lines have an ID in them, so there it takes a whole log without one.
    """
    for text in texts:
        found = search.find(text)
        yield from found
        if not found:
            missed.append(search.explain(text))
    if not texts:
        count = 0
        for line in sys.stdin.buffer:
            found = search.find(line.decode("utf-8", "replace"))
            yield from found
            count += len(found)
        if not count:
            missed.append("no ID was found on standard input")


def _drawn(findings: Iterable[Finding], picture: IO[str]) -> Iterator[Finding]:
    """The same findings; the first is drawn into a file on its way."""
    for i, finding in enumerate(findings):
        if i == 0:
            best = finding.fits[0]
            picture.write(svg(best.scheme.layout, _unshuffled(best)))
            picture.close()
        yield finding


def _unshuffled(fit: Fit) -> int:
    """The number whose bits lie as the layout has them."""
    number, shuffle = fit.reading.number, fit.scheme.shuffle
    return number if shuffle is None else shuffle.invert(number)


# --- for a program


def _as_json(finding: Finding, now_us: int) -> dict[str, Any]:
    best = finding.fits[0]
    us = best.values.moment_us
    return {
        "text": best.reading.text,
        "id": str(best.reading.number),
        "scheme": best.scheme.name,
        "encoding": best.reading.encoding,
        "prefix": best.reading.prefix,
        "moment": None if us is None else moment_text(us),
        "age_s": None if us is None else round((now_us - us) / 1e6, 3),
        "fields": dict(best.values),
        "foreign": list(best.values.foreign),
        "doubt": best.refused or None,
        "texts": _texts(best),
        "candidates": [
            {"scheme": fit.scheme.name, "score": round(fit.score, 1), "why": list(fit.reasons)}
            for fit in finding.fits
            if finding.guessed and not fit.refused
        ],
    }


def _texts(fit: Fit) -> dict[str, str]:
    """The ID in every encoding, with the prefix that it came with."""
    reading, bits = fit.reading, fit.scheme.bits
    return {e: reading.prefix + Codec(e, bits).encode(reading.number) for e in DIGITS}


# --- for a person


def _show(finding: Finding, now_us: int) -> None:
    best = finding.fits[0]
    console = terminal.console()
    kind = f"{best.reading.manner}, {best.scheme.bits} bits"
    shuffled = ", shown unshuffled" if best.scheme.shuffle is not None else ""
    click.echo(f"{best.reading.text}: scheme {best.scheme.name} ({kind}{shuffled})\n")
    columns = min(console.width, _DRAWING_COLUMNS)
    drawing = draw(best.scheme.layout, _unshuffled(best), width=columns).partition("\n\n")[0]
    if console.is_terminal and not console.no_color:
        console.print(_coloured(drawing, best.scheme.layout), no_wrap=True, crop=False)
    else:
        click.echo(drawing)
    click.echo()
    terminal.echo(terminal.facts(_facts(best, now_us)))
    near = [fit.scheme.name for fit in finding.fits[1:] if fit.score > best.score - _NEAR_BITS]
    if finding.guessed:
        _show_candidates(finding)
    elif near:
        names = ", ".join(near[:_OTHERS_SHOWN])
        click.echo(f"\nIt could as well be of {names}; --guess compares.")


def _coloured(drawing: str, layout: Layout) -> "Text":
    """The drawing with each cell in the colours of its role; only lines of cells have ``│``."""
    from rich.style import Style
    from rich.text import Text

    roles = {field.name: field.role for field in layout.fields}
    text = Text()
    styles: list[Style] = []
    for line in drawing.splitlines():
        cells = line.split("│")[1:-1]
        if cells and not styles:
            pairs = (COLOURS[roles[cell.strip()]][1] for cell in cells)
            styles = [Style(color=COLOURS["plain"][1], bgcolor=colour) for colour in pairs]
        if cells:
            for cell, style in zip(cells, styles, strict=True):
                text.append("│").append(cell, style)
            text.append("│\n")
        else:
            styles = []
            text.append(f"{line}\n", "dim")
    text.rstrip()
    return text


def _facts(fit: Fit, now_us: int) -> Iterator[tuple[str, str]]:
    """(what, answer): the moment, each field, each text, and what to beware of."""
    values, layout, number = fit.values, fit.scheme.layout, fit.reading.number
    us = values.moment_us
    if us is not None:
        yield "moment", f"{moment_text(us)}, {ago(us, now_us)}"
        if terminal.local_text(us):
            yield "local time", terminal.local_text(us)
    for field in layout.fields:
        value = values[field.name]
        if field.fixed is not None:
            stranger = f", where this scheme has {field.fixed}" if value != field.fixed else ""
            yield field.name, f"{value:,} (constant{stranger})"
        elif field.role != "time":
            yield field.name, f"{value:,} (0 to {field.limit:,})"
    if "node" not in dict(values) and layout.bits_of("node"):
        yield "node", f"{values['node']:,} (its parts together)"
    yield from _texts(fit).items()
    if fit.refused:
        yield "doubt", f"{fit.refused}: is it an ID of this scheme?"
    if number > 1 << 53 and int(float(number)) != number:
        yield "JavaScript", f"would make it {int(float(number))}; pass it as text"
    if fit.scheme.bits == 64 and number >> 63:
        yield "BIGINT", f"does not hold it; a signed column shows {number - (1 << 64)}"


def _show_candidates(finding: Finding) -> None:
    """What else it could be, and why this was chosen."""
    fitting = [fit for fit in finding.fits if not fit.refused]
    refused = [fit for fit in finding.fits if fit.refused]
    shown = terminal.table("could be", "evidence", "because", right=("evidence",))
    for fit in fitting[:_OTHERS_SHOWN]:
        shown.add_row(fit.scheme.name, f"{fit.score:.0f} bits", ", ".join(fit.reasons))
    click.echo()
    terminal.echo(shown)
    if refused:
        names = "; ".join(f"{fit.scheme.name} ({fit.refused})" for fit in refused)
        click.echo()
        terminal.echo(f"cannot be: {names}", "dim")
