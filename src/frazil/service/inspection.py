"""The contents of an ID, as the HTTP API, the Redis endpoint and the console report them.

``facts_of`` decodes a text that is known to be an ID of the namespace. ``findings_of`` searches any
text, such as a log line, as ``frazil inspect`` does. It adds the IDs next to each ID, and the range
of IDs in the same second, minute, hour and day.
"""

from collections.abc import Iterable
from typing import Any

from frazil.errors import CodecError, LayoutError
from frazil.inputs.duration import UNITS_US, ago, duration_text
from frazil.layout.drawing import spans
from frazil.reading.capacity import Plan
from frazil.reading.foreign import Foreign, doubt_of
from frazil.reading.guess import contradiction, rivals_of
from frazil.reading.search import Match, Search, moment_json
from frazil.schemes.alphabet import encodings_of
from frazil.schemes.codec import Codec
from frazil.schemes.scheme import Scheme
from frazil.schemes.scheme import scheme as make_scheme
from frazil.service.namespace import ServedNamespace
from frazil.system.clock import moment_text, wall_us

TEXT_MOST = 4_000  # the most characters in a text to search
FOUND_MOST = 20  # the most IDs that are reported for one text
_OTHERS_MOST = 6
_STRETCHES_US = [UNITS_US[unit] for unit in ("s", "min", "h", "d")]


def facts_of(served: ServedNamespace, text: str, encoding: str = "") -> dict[str, Any]:
    """Return all fields and facts of an ID.

    encoding: how the ID is written, if not as its scheme does. ``doubt`` is why no generator of the
    scheme made it. Raises CodecError if the text is not an ID, and ConfigError for an unknown
    encoding.
    """
    scheme = served.scheme
    codec = Codec(encoding, scheme.bits) if encoding else scheme.codec
    return {"namespace": served.name, **_facts(scheme, codec.decode(text), wall_us())}


def findings_of(served: ServedNamespace, text: str, spec: str = "") -> list[dict[str, Any]]:
    """Return the IDs in a text, in order, with their neighbours and the ranges around them.

    spec: the name of the only scheme to try; without it, the scheme of the namespace is preferred.
    Raises CodecError if the text contains no ID, and ConfigError for an unknown scheme.
    """
    scheme = make_scheme(spec) if spec and spec != served.scheme.name else served.scheme
    search = Search(scheme, wall_us(), named=bool(spec))
    found = []
    if scheme.key is not None:  # nothing but its own form decrypts it
        found = Search(scheme, search.now_us, named=True, strict=True).find(text, FOUND_MOST)
    found = found or search.find(text, FOUND_MOST)
    if not found:
        raise CodecError(search.explain(text))
    return [_finding_json(finding, search.now_us) for finding in found]


def neighbours(scheme: Scheme, n: int) -> list[dict[str, Any]]:
    """Return the IDs that the same node makes directly before and after, as far as they exist."""
    layout, values = scheme.layout, scheme.unpack(n)
    fields = {field.name: values[field.name] for field in layout.fields}
    runs = 1 if layout.axis == "sequence" else layout.sequences
    at = fields[layout.axis] * runs + (fields.get("sequence", 0) if runs > 1 else 0)
    found = []
    for step in (-2, -1, 1, 2):
        if not 0 <= at + step < layout.axis_end * runs:
            continue
        fields[layout.axis], rest = divmod(at + step, runs)
        if runs > 1:
            fields["sequence"] = rest
        beside = scheme.pack(**fields)
        us = scheme.unpack(beside).moment_us
        moment = None if us is None else moment_text(us)
        found.append({"step": step, "id": scheme.format(beside), "moment": moment})
    return found


def stretches(scheme: Scheme, us: int) -> list[dict[str, Any]]:
    """Return the periods that contain a moment, each with its first and last ID.

    The two IDs are None if the IDs of a period do not form one range.
    """
    layout = scheme.layout
    tick_us, end_us = layout.tick_us or 1, layout.exhausted_us or us
    longer = [size_us for size_us in _STRETCHES_US if size_us > tick_us]
    begins = [(tick_us, us), *((size_us, us // size_us * size_us) for size_us in longer)]
    found = []
    for size_us, begin_us in begins:
        start_us = max(layout.epoch_us or 0, begin_us)
        stop_us = min(end_us, begin_us + size_us)
        try:
            ids = scheme.window(start_us, stop_us)
            ends = (ids[0], ids[-1]) if ids else ()
        except LayoutError:
            ends = ()
        first, last = map(scheme.format, ends) if ends else (None, None)
        found.append(
            {
                "length": duration_text(size_us),
                "from": moment_text(start_us),
                "to": moment_text(stop_us),
                "at": round((us - start_us) / (stop_us - start_us), 6),
                "first": first,
                "last": last,
            }
        )
    return found


def _facts(scheme: Scheme, n: int, now_us: int) -> dict[str, Any]:
    values = scheme.unpack(n)
    us = values.moment_us
    bare = n if scheme.shuffle is None else scheme.shuffle.invert(n)
    layout = scheme.layout
    return {
        "scheme": scheme.name,
        "id": scheme.format(n),
        "number": str(n),
        **moment_json(us, now_us),
        "node": str(values["node"]) if layout.bits_of("node") else None,
        "fields": [_field(one, values[one.name], one.limit) for one in layout.fields],
        "spans": _spans(spans(layout, bare)),
        "foreign": list(values.foreign),
        "doubt": contradiction(scheme, values, now_us) or None,
        "texts": {name: Codec(name, scheme.bits).encode(n) for name in encodings_of(scheme.bits)},
    }


def _finding_json(finding: Match, now_us: int) -> dict[str, Any]:
    """Return a finding: its best fit with all context, and what else it could be."""
    if finding.foreign is not None:
        return _foreign_json(finding.foreign, now_us)
    best = finding.fits[0]
    scheme, n, us = best.scheme, best.reading.number, best.values.moment_us
    return {
        **_facts(scheme, n, now_us),
        "text": best.reading.text,
        "written": best.reading.encoding_text,
        "layout": str(scheme.layout),
        "shuffled": scheme.shuffle is not None,
        "said": None if us is None else ago(us, now_us),
        "guessed": finding.guessed,
        "doubt": best.refused or best.doubt or None,
        "reasons": list(best.reasons) if finding.guessed else [],
        "others": [fit.scheme.name for fit in rivals_of(finding.fits) if fit is not best][
            :_OTHERS_MOST
        ],
        "unsorted": Plan(scheme.name, scheme.layout, shuffle=scheme.shuffle).unsorted or None,
        "note": None,
        "neighbours": neighbours(scheme, n),
        "stretches": [] if us is None else stretches(scheme, us),
    }


def _foreign_json(found: Foreign, now_us: int) -> dict[str, Any]:
    """Return an ID of another system, which has no neighbours and no ranges, in the same form."""
    us = found.moment_us
    return {
        "scheme": found.format,
        "id": found.canonical,
        "number": str(found.number),
        **moment_json(us, now_us),
        "fields": [
            _field(part, part.value, (1 << part.bits) - 1, None if part.counted else part.text)
            for part in found.parts
        ],
        "spans": _spans(found.spans),
        "texts": found.texts,
        "text": found.text,
        "written": found.written,
        "layout": " ".join(f"{part.name}:{part.bits}" for part in found.parts),
        "said": None if us is None else ago(us, now_us),
        "doubt": doubt_of(found, now_us) or None,
        "note": _note(found) or None,
        **dict.fromkeys(("node", "unsorted")),
        **dict.fromkeys(("shuffled", "guessed"), False),
        **{name: [] for name in ("foreign", "reasons", "others", "neighbours", "stretches")},
    }


def _field(part: Any, value: int, limit: int, hex_text: str | None = None) -> dict[str, Any]:
    shown = {"value": str(value), "limit": str(limit), "hex": hex_text}
    return {"name": part.name, "role": part.role, **shown}


def _spans(found: Iterable[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "role": role, "digits": bits} for name, role, bits in found]


def _note(found: Foreign) -> str:
    """Return what its parts mean, if that is not obvious, and what else the text could be."""
    other = f"it could also be an ID of {', '.join(found.others)}" if found.others else ""
    return "; ".join(filter(None, (found.note, other)))
