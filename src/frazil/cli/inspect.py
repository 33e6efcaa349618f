"""``frazil inspect``: the fields of an ID.

The input is an ID or a line of a log that contains one; its encoding and its scheme may be unknown.
So a text is read in every encoding. Its scheme is the named one; without ``--scheme``, the one that
fits far better than all others. Where several fit, all their readings are shown and none is
preferred: an ID of Twitter is also an ID of frazil's default scheme, of another year.

IDs of other systems, like UUIDs, have JSON with the same keys. Colour adds no information.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from frazil.cli import Failure
from frazil.cli._options import is_default, json_option, scheme_options, svg_option
from frazil.cli.show import terminal
from frazil.inputs.duration import ago
from frazil.layout.drawing import COLOURS, draw, draw_spans, svg
from frazil.layout.field import Role
from frazil.reading.foreign import Foreign, doubt_of
from frazil.reading.guess import Fit, rivals_of
from frazil.reading.search import Match, Search, moment_json
from frazil.schemes.alphabet import encodings_of
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text, sortable_text, wall_us

if TYPE_CHECKING:
    from rich.text import Text

_DRAWING_COLUMNS = 100
_CANDIDATES_SHOWN = 4


@click.command
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@partial(scheme_options, default="all that fit")
@click.option(
    "--guess", is_flag=True, help="Show the evidence for each scheme, and why others are excluded."
)
@svg_option("Also draw the first ID to this file.")
@json_option
def command(
    *,
    texts: tuple[str, ...],
    scheme: Scheme,
    guess: bool,
    picture: IO[str] | None,
    as_json: bool,
) -> None:
    """Show the moment, the node and every bit of an ID.

    TEXT is an ID in any encoding, or a line that contains IDs; without TEXT, the command reads
    lines from standard input. Without --scheme, all plausible readings of an ID are shown, or the
    only one with every bit. UUIDs, ULIDs, KSUIDs, xids, ObjectIds and TypeIDs of other programs are
    read too.

    \b
      frazil inspect $(frazil mint)
      frazil inspect 175928847299117063
      frazil inspect --guess 175928847299117063
      frazil inspect --scheme discord 175928847299117063
      frazil inspect order_1hKLdzab7bs --json | jq -r '.[].id'  # the number
      tail -n 1 app.log | frazil inspect --json
    """
    named = not is_default("scheme", "field", "epoch")
    strict = not is_default("encoding", "prefix", "check", "group")
    if guess and (named or strict):
        raise click.UsageError(
            "--guess finds the scheme; omit --scheme and the other options of a scheme"
        )
    search = Search(scheme, wall_us(), named=named or strict, guess=guess, strict=strict)
    if not texts and sys.stdin.isatty():
        raise click.UsageError("no ID was given; pass one, or pipe lines with IDs to this command")
    failures: list[str] = []
    found = _findings(texts, search, failures)
    if picture is not None:
        found = _draw_first(found, picture)
    if as_json:
        terminal.echo_json(_as_json(finding, search.now_us) for finding in found)
    else:
        for i, finding in enumerate(found):
            click.echo("\n" * (i > 0), nl=False)
            _show(finding, search.now_us)
    if failures:
        raise Failure("\n".join(failures))


def _findings(texts: tuple[str, ...], search: Search, failures: list[str]) -> Iterator[Match]:
    """The IDs in texts, or in standard input; appends a reason to ``failures`` if there is none.

    Each text must contain an ID; standard input must contain one in some line.
    """
    for text in texts:
        found = search.find(text)
        yield from found
        if not found:
            failures.append(search.explain(text))
    if not texts:
        count = 0
        for line in sys.stdin.buffer:
            found = search.find(line.decode("utf-8", "replace"))
            yield from found
            count += len(found)
        if not count:
            step = "pass one, like frazil inspect 1425152293497475073"
            failures.append(f"no ID was found on standard input; {step}")


def _draw_first(findings: Iterable[Match], picture: IO[str]) -> Iterator[Match]:
    """The same findings; draws the first to a file."""
    for i, finding in enumerate(findings):
        if i == 0:
            if finding.foreign is not None:
                raise Failure(
                    f"--svg draws IDs of frazil's schemes, not a {finding.foreign.format}"
                )
            rivals = rivals_of(finding.fits)
            if len(rivals) > 1:
                raise Failure(f"--svg draws one reading: {_undecided(rivals)}")
            best = (rivals or finding.fits)[0]
            picture.write(svg(best.scheme.layout, _unshuffled(best)))
            picture.close()
        yield finding


def _unshuffled(fit: Fit) -> int:
    """The number with its bits in the layout's order."""
    number, shuffle = fit.reading.number, fit.scheme.shuffle
    return number if shuffle is None else shuffle.invert(number)


# --- JSON


def _as_json(finding: Match, now_us: int) -> dict[str, Any]:
    if finding.foreign is not None:
        return _foreign_json(finding.foreign, now_us)
    rivals = rivals_of(finding.fits) or [finding.fits[0]]
    best, decided = rivals[0], len(rivals) == 1
    return {
        "text": best.reading.text,
        "id": str(best.reading.number),
        "scheme": best.scheme.name if decided else None,
        "encoding": best.reading.encoding,
        "prefix": best.reading.prefix,
        **moment_json(best.values.moment_us if decided else None, now_us),
        "fields": dict(best.values) if decided else {},
        "foreign": list(best.values.foreign) if decided else [],
        "doubt": (best.refused or best.doubt or None) if decided else _undecided(rivals),
        "texts": _texts(best),
        "candidates": [
            {
                "scheme": fit.scheme.name,
                "encoding": fit.reading.encoding,
                **moment_json(fit.values.moment_us, now_us),
                "fields": dict(fit.values),
                "score": round(fit.score, 1),
                "why": list(fit.reasons),
                "doubt": fit.doubt or None,
            }
            for fit in _plausible(finding)
        ],
    }


def _foreign_json(found: Foreign, now_us: int) -> dict[str, Any]:
    """The same; a field that holds bytes instead of a number is a hex text."""
    return {
        "text": found.text,
        "id": str(found.number),
        "scheme": found.format,
        "encoding": found.written,
        "prefix": found.prefix,
        **moment_json(found.moment_us, now_us),
        "fields": {part.name: part.value if part.counted else part.text for part in found.parts},
        "foreign": [],
        "doubt": doubt_of(found, now_us) or None,
        "texts": found.texts,
        "candidates": [],
    }


def _undecided(rivals: list[Fit]) -> str:
    names = ", ".join(fit.scheme.name for fit in rivals)
    return f"it can be an ID of {names}; name one with --scheme"


def _texts(fit: Fit) -> dict[str, str]:
    """The ID in every encoding; a scheme with a key or groups adds its text.

    They have the prefix that was read, but for a keyed scheme. The number has it only if it was
    read with it: it is what a database keeps.
    """
    reading, bits = fit.reading, fit.scheme.bits
    keyed = fit.scheme.key is not None
    prefix = "" if keyed else reading.prefix
    name = "keyed" if keyed else "own"
    own = {name: fit.scheme.format(reading.number)} if keyed or fit.scheme.group else {}
    texts = {e: prefix + Codec(e, bits).encode(reading.number) for e in encodings_of(bits)}
    if "decimal" in texts and reading.encoding != "decimal":
        texts["decimal"] = str(reading.number)
    return own | texts


# --- text


def _show(finding: Match, now_us: int) -> None:
    if finding.foreign is not None:
        _show_foreign(finding.foreign, now_us)
        return
    rivals = rivals_of(finding.fits) or [finding.fits[0]]
    if len(rivals) > 1:
        _show_undecided(finding, now_us)
        return
    best = rivals[0]
    kind = f"{best.reading.encoding_text}, {best.scheme.bits} bits"
    shuffled = ", shown unshuffled" if best.scheme.shuffle is not None else ""
    title = f"{best.reading.text}: scheme {best.scheme.name} ({kind}{shuffled})"
    drawing = draw(best.scheme.layout, _unshuffled(best), width=_columns()).partition("\n\n")[0]
    roles = {field.name: field.role for field in best.scheme.layout.fields}
    _show_one(title, drawing, roles, _facts(best, now_us))
    if finding.guessed:
        _show_candidates(finding)
    elif search := _log_search(best):
        click.echo(f"\nThe process that made it, in logs of the level INFO:\n{search}")


def _columns() -> int:
    return min(terminal.console().width, _DRAWING_COLUMNS)


def _show_one(
    title: str, drawing: str, roles: Mapping[str, Role], facts: Iterable[tuple[str, str]]
) -> None:
    click.echo(f"{terminal.wrapped(title)}\n")
    console = terminal.console()
    if console.is_terminal and not console.no_color:
        console.print(_coloured(drawing, roles), no_wrap=True, crop=False)
    else:
        click.echo(drawing)
    click.echo()
    terminal.echo(terminal.Facts(facts))


def _show_foreign(found: Foreign, now_us: int) -> None:
    title = f"{found.text}: {found.format} ({found.written}, {found.bits} bits)"
    roles = {part.name: part.role for part in found.parts}
    drawing = draw_spans(found.spans, width=_columns())
    _show_one(title, drawing, roles, _foreign_facts(found, now_us))
    if found.others:
        other = f"It could also be an ID of {', '.join(found.others)}."
        click.echo(f"\n{terminal.wrapped(other)}")


def _foreign_facts(found: Foreign, now_us: int) -> Iterator[tuple[str, str]]:
    yield from terminal.moment_facts(found.moment_us, now_us)
    if found.prefix:
        yield "prefix", found.prefix
    for part in found.parts:
        yield part.name, f"{part.text} (constant)" if part.role == "fixed" else part.text
    yield from found.texts.items()
    if found.note:
        yield "note", found.note
    if doubt := doubt_of(found, now_us):
        yield "doubt", f"{doubt}; it may be something else"


def _show_undecided(finding: Match, now_us: int) -> None:
    """The readings of an ID that several schemes can have made."""
    plausible = _plausible(finding)
    title = f"{plausible[0].reading.text} can be an ID of {len(plausible)} schemes:"
    click.echo(f"{terminal.wrapped(title)}\n")
    columns = ("scheme", "moment", "age", "node", "sequence", "evidence")
    table = terminal.Rows(*columns, right=columns[3:])
    for fit in plausible:
        us, values = fit.values.moment_us, fit.values
        moment = ("", "") if us is None else (f"{moment_text(us)[:19]}Z", ago(us, now_us))
        node = f"{values['node']:,}" if fit.scheme.layout.bits_of("node") else ""
        sequence = f"{values['sequence']:,}" if fit.scheme.layout.bits_of("sequence") else ""
        table.add_row(fit.scheme.name, *moment, node, sequence, f"{fit.score:.0f} bits")
    terminal.echo(table)
    if finding.guessed:
        _show_excluded(finding)
    decide = (
        "The number alone does not tell. The right scheme is the one whose moment is when the ID "
        f"was made; name it to see every bit, like --scheme {plausible[1].scheme.name}."
    )
    click.echo(f"\n{terminal.wrapped(decide)}")


def _plausible(finding: Match) -> list[Fit]:
    """The readings that are not refused, the best first."""
    fits = (fit for fit in finding.fits if not fit.refused)
    return sorted(fits, key=lambda fit: -fit.score)


def _log_search(fit: Fit) -> str:
    """The shell command that finds the grant of the claim with this ID; see ``journal``."""
    values, layout = fit.values, fit.scheme.layout
    node = values["node"] if layout.bits_of("node") else 0
    if values.moment_us is not None:
        order, last = "sort", f'"{sortable_text(values.moment_us)}"'
    elif layout.tick_us is None:
        order, last = "sort -n -k 5", str(values[layout.axis])
    else:
        return ""
    return (
        f"  grep -ho 'claim granted: node {node}, .*' *.log | {order} |\n"
        f"    awk '$5 <= {last}' | tail -n 1"
    )


def _coloured(drawing: str, roles: Mapping[str, Role]) -> "Text":
    """The drawing with each cell in the colour of its role; lines of cells contain ``│``."""
    from rich.style import Style
    from rich.text import Text

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
    """(name, value): the moment, each field, each text, and warnings."""
    values, layout, number = fit.values, fit.scheme.layout, fit.reading.number
    yield from terminal.moment_facts(values.moment_us, now_us)
    for field in layout.fields:
        value = values[field.name]
        if field.fixed is not None:
            expected = f"; this scheme has {field.fixed}" if value != field.fixed else ""
            yield field.name, f"{value:,} (constant{expected})"
        elif field.role != "time":
            yield field.name, f"{value:,} (0 to {field.limit:,})"
    if "node" not in dict(values) and layout.bits_of("node"):
        yield "node", f"{values['node']:,} (from all its fields)"
    yield from _texts(fit).items()
    if doubt := fit.refused or fit.doubt:
        yield "doubt", f"{doubt}; it may not be an ID of this scheme"
    if number > 1 << 53 and int(float(number)) != number:
        yield "JavaScript", f"rounds it to {int(float(number))}; pass it as text"
    if fit.scheme.bits == 64 and number >> 63:
        yield "BIGINT", f"overflows; a signed column shows {number - (1 << 64)}"


def _show_candidates(finding: Match) -> None:
    """The schemes that fit, with their scores, and those that do not."""
    table = terminal.Rows("candidate", "evidence", "reasons", right=("evidence",))
    for fit in _plausible(finding)[:_CANDIDATES_SHOWN]:
        table.add_row(fit.scheme.name, f"{fit.score:.0f} bits", ", ".join(fit.reasons))
    click.echo()
    terminal.echo(table)
    _show_excluded(finding)


def _show_excluded(finding: Match) -> None:
    refused = [fit for fit in finding.fits if fit.refused]
    if refused:
        names = "; ".join(f"{fit.scheme.name} ({fit.refused})" for fit in refused)
        click.echo()
        terminal.echo(f"excluded: {names}", "dim")
