"""The findings of an audit, as JSON and as text."""

from collections.abc import Iterator
from typing import Any

from frazil.cli.files.auditor import Auditor, Survey
from frazil.cli.show.terminal import counted
from frazil.inputs.duration import duration_text
from frazil.schemes.scheme import Scheme
from frazil.system.clock import moment_text

_NODES_SHOWN = 10


def as_json(auditor: Auditor) -> dict[str, Any]:
    """The findings as JSON values; a place has ``file`` and ``line`` or ``row``."""
    found: dict[str, Any] = {
        "files": auditor.names,
        "scheme": None if auditor.scheme is None else auditor.scheme.name,
        "clean": auditor.clean,
        "rows": auditor.survey.rows,
        "invalid": {
            "count": auditor.survey.invalid,
            "first": [
                {"text": text, "reason": reason} | _json_place(auditor, position)
                for position, text, reason in auditor.first_invalid
            ],
        },
        "duplicates": {
            "count": auditor.duplicates,
            "first": [
                {
                    "id": auditor.text(key),
                    "first": _json_place(auditor, first),
                    "again": _json_place(auditor, again),
                }
                for key, first, again in auditor.first_duplicates
            ],
        },
    }
    if auditor.scheme is not None:
        found |= _json_survey(auditor, auditor.scheme, auditor.survey)
    return found


def _json_survey(auditor: Auditor, scheme: Scheme, survey: Survey) -> dict[str, Any]:
    order = moments = None
    if survey.first_tick is not None and survey.last_tick is not None:
        order = {
            "late": survey.late,
            "worst_us": survey.late_ticks * (scheme.layout.tick_us or 0),
            "worst_at": _json_place(auditor, survey.late_at),
        }
        moments = {
            "first": moment_text(scheme.layout.us_at(survey.first_tick)),
            "last": moment_text(scheme.layout.us_at(survey.last_tick)),
        }
    return {
        "order": order,
        "time": moments,
        "nodes": {str(node): count for node, count in sorted(survey.nodes.items())},
        "foreign": {
            "count": survey.foreign_ids,
            "fields": dict(survey.foreign),
            "first": _json_place(auditor, survey.foreign_at),
        },
    }


def _json_place(auditor: Auditor, position: int | None) -> dict[str, Any]:
    if position is None:
        return {}
    file, unit, number = auditor.place(position)
    return {"file": file, unit: number}


def as_text(auditor: Auditor) -> Iterator[tuple[str, str]]:
    """The findings as pairs of a name and a text."""
    yield "files", ", ".join(auditor.names)
    valid = auditor.survey.valid
    kind = "" if auditor.scheme is None else f" of scheme {auditor.scheme.name}"
    yield "IDs", f"{valid:,} valid{kind}, in {counted(auditor.survey.rows, 'row')}"
    if auditor.survey.invalid:
        yield (
            "invalid",
            counted(auditor.survey.invalid, "row") + _more(auditor.survey.invalid, auditor),
        )
        for position, text, reason in auditor.first_invalid:
            yield "", f"{_place_text(auditor, position)}: {text!r}: {reason}"
        if auditor.scheme is not None and auditor.survey.invalid == auditor.survey.rows:
            yield "", "set the scheme of these IDs with --scheme, or compare them with --no-decode"
    yield from _duplicates(auditor)
    if auditor.scheme is not None:
        yield from _survey(auditor, auditor.scheme, auditor.survey)


def _duplicates(auditor: Auditor) -> Iterator[tuple[str, str]]:
    if not auditor.duplicates:
        yield "duplicates", "none"
        return
    yield "duplicates", counted(auditor.duplicates, "row") + _more(auditor.duplicates, auditor)
    for key, *positions in auditor.first_duplicates:
        first, again = (_place_text(auditor, position) for position in positions)
        yield "", f"{auditor.text(key)}: {first}, and {again}"


def _survey(auditor: Auditor, scheme: Scheme, survey: Survey) -> Iterator[tuple[str, str]]:
    layout = scheme.layout
    if survey.foreign_ids and survey.foreign_at is not None:
        names = ", ".join(f"{name} ({count:,})" for name, count in survey.foreign.most_common())
        where = _place_text(auditor, survey.foreign_at)
        yield "foreign", f"{counted(survey.foreign_ids, 'ID')} with another {names}; first {where}"
    if survey.first_tick is not None and survey.last_tick is not None:
        if survey.late and survey.late_at is not None:
            worst = duration_text(survey.late_ticks * (layout.tick_us or 0))
            where = _place_text(auditor, survey.late_at)
            yield "order", f"{counted(survey.late, 'ID')} late, by up to {worst} ({where})"
        else:
            yield "order", "sorted by time"
        first, last = layout.us_at(survey.first_tick), layout.us_at(survey.last_tick)
        yield "time", f"{moment_text(first)} to {moment_text(last)} ({duration_text(last - first)})"
    if survey.nodes:
        shown = survey.nodes.most_common(_NODES_SHOWN)
        text = ", ".join(f"{node} ({counted(count, 'ID')})" for node, count in shown)
        rest = len(survey.nodes) - len(shown)
        yield "nodes", text + (f", and {rest:,} more" if rest else "")
    if survey.uncounted:
        yield "", f"{counted(survey.uncounted, 'ID')} of more nodes than are counted"


def _more(count: int, auditor: Auditor) -> str:
    """A note if not all are shown."""
    return f", the first {auditor.kept_max}:" if count > auditor.kept_max > 0 else ""


def _place_text(auditor: Auditor, position: int) -> str:
    file, unit, number = auditor.place(position)
    return f"{unit} {number}" if len(auditor.names) == 1 else f"{file} {unit} {number}"
