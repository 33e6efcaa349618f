"""Expressions and a view for SQLite that read the IDs of one scheme.

SQLite has no stored functions. A function that a program registers is missing in the console and in
every other program, and with an index on it they cannot use the file. So the view of a table has
columns for the time, the node, the fields and the text. Its expressions are deterministic, so a
generated column or an index may use them too. The two conversions towards an ID, of a text and of a
moment, are printed as expressions with a parameter.

A time is text in UTC, ``2026-11-24T18:00:00.123456Z``, which sorts as time does. It is NULL after
the year 9999. SQLite's integers are signed and have 64 bits.
"""

from frazil.errors import ConfigError, LayoutError
from frazil.schemes.alphabet import digits_of
from frazil.schemes.scheme import Scheme
from frazil.sql import parts


def view(scheme: Scheme, name: str, table: str, column: str = "id") -> str:
    """The statements that make the view ``name_ids`` of a table. They may be repeated.

    Raises ConfigError for a scheme whose IDs SQLite cannot hold, or an invalid name.
    """
    parts.checked_name(name, "--name")
    found = expressions(scheme, parts.quoted(column))
    columns = [
        f"    {expression} AS {parts.quoted(part)}"
        for part, expression in found.items()
        if part not in ("id", "from")
    ]
    text = (
        f"-- IDs of scheme {scheme.name}, for SQLite, which has no stored functions:\n"
        f"-- {scheme.layout}\n"
        f"-- The ID of a text :text (NULL if it is not one):\n--   {found['id']}\n"
    )
    if "from" in found:
        text += f"-- The first ID at or after :us, us since 1970:\n--   {found['from']}\n"
    return (
        f"{text}{drop_view(scheme, name, table, column)}"
        f"CREATE VIEW {parts.quoted(f'{name}_ids')} AS SELECT\n    {parts.quoted(column)} AS id,\n"
        + ",\n".join(columns)
        + f"\nFROM {parts.quoted(table)};\n"
    )


def drop_view(_scheme: Scheme, name: str, _table: str, _column: str = "id") -> str:
    """The statement that removes the view."""
    parts.checked_name(name, "--name")
    return f"DROP VIEW IF EXISTS {parts.quoted(f'{name}_ids')};\n"


def expressions(scheme: Scheme, n: str) -> dict[str, str]:
    """Expressions by part: of an ID ``n``; ``id`` of ``:text``, and ``from`` of ``:us``."""
    parts.refuse_unreadable(scheme)
    if not scheme.signed_safe:
        raise ConfigError(
            f"IDs of scheme {scheme.name!r} go up to {scheme.id_max} and SQLite's integers to "
            f"{2**63 - 1}; use a scheme with a sign bit, like 'icicle'",
            scheme=scheme.name,
            limit=2**63 - 1,
        )
    valid = _valid(scheme, n)
    found = {}
    values = {part: parts.value_of(at, n) for part, at in parts.parts_of(scheme).items()}
    if scheme.layout.tick_us is not None:
        us = f"({values['tick']}) * {scheme.layout.tick_us} + {scheme.layout.epoch_us}"
        last = (parts.LAST_US - (scheme.layout.epoch_us or 0)) // scheme.layout.tick_us
        seconds = f"strftime('%Y-%m-%dT%H:%M:%S', ({us}) / 1000000, 'unixepoch')"
        time = f"{seconds} || printf('.%06dZ', ({us}) % 1000000)"
        found["time"] = f"CASE WHEN {valid} AND ({values['tick']}) < {last} THEN {time} END"
    for part, value in values.items():
        found[part] = f"CASE WHEN {valid} THEN {value} END"
    found["text"] = f"CASE WHEN {valid} THEN {_text(scheme, n)} END"
    found["id"] = _id(scheme)
    try:
        base, shift = parts.window(scheme)
    except LayoutError:
        return found
    tick_us, epoch_us, end = scheme.layout.tick_us, scheme.layout.epoch_us, scheme.layout.axis_end
    tick = f"((:us - {epoch_us} + {(tick_us or 0) - 1}) / {tick_us})"
    found["from"] = (
        f"CASE WHEN :us >= {epoch_us} AND {tick} < {end} THEN {base} + ({tick} << {shift}) END"
    )
    return found


def _valid(scheme: Scheme, n: str) -> str:
    mask, value = parts.fixed_of(scheme, 64)
    if mask >> 63:  # such a literal would be a floating-point number
        mask ^= 1 << 63
        return f"{n} >= 0" + (f" AND ({n} & {mask}) = {value}" if mask else "")
    return f"({n} & {mask}) = {value}"


def _text(scheme: Scheme, n: str) -> str:
    prefix = f"'{scheme.prefix}' || " if scheme.prefix else ""
    checks = parts.check_of(scheme, f"({n} % {len(parts.checks(scheme))})")
    if scheme.encoding == "decimal":
        text = " || ".join([f"CAST({n} AS TEXT)", *checks])
        if scheme.group:
            text = f"rtrim({' || '.join(parts.cut(scheme, f'({text})'))}, '-')"
        return prefix + text
    if scheme.encoding == "hex" and not (checks or scheme.group):
        return f"{prefix}printf('%0{parts.width_of(scheme)}x', {n})"
    digits = digits_of(scheme.encoding)
    found = [
        f"substr('{digits}', {n} / {power} % {len(digits)} + 1, 1)" if power else f"'{digits[0]}'"
        for power in parts.powers_below(scheme, 63)
    ]
    return prefix + " || ".join(parts.in_groups([*found, *checks], scheme.group))


def _id(scheme: Scheme) -> str:
    """The ID of ``:text``; NULL for any other text."""
    digits, checks = digits_of(scheme.encoding), parts.checks(scheme)
    size, start = len(checks[0]), len(scheme.prefix) + 1
    raw = f"substr(:text, {start})"
    rest = parts.typed(scheme, raw)
    fits = ""
    if scheme.group:
        strays = "".join(f" AND {raw} NOT GLOB '{stray}'" for stray in
                         ("[- ]*", "*[- ][- ]*", "*[- ]"))  # fmt: skip
        fits = f"{strays.removeprefix(' AND ')} AND "
    if scheme.encoding == "decimal":
        limit = str(parts.limit_of(scheme, 63))
        inner = f"substr({rest}, 1, length({rest}) - {size})" if size else rest
        shorter = f"length({inner}) < {len(limit)}"
        fits += (
            f"{inner} NOT GLOB '*[^0-9]*' AND ({inner} = '0' OR {inner} GLOB '[1-9]*') AND "
            f"({shorter} OR (length({inner}) = {len(limit)} AND {inner} <= '{limit}'))"
        )
        number = f"CAST({inner} AS INTEGER)"
    else:
        powers = parts.powers_below(scheme, 63)
        inner = f"substr({rest}, 1, {len(powers)})"
        fits += (
            f"length({rest}) = {len(powers) + size} AND {inner} NOT GLOB '*[^{digits}]*' AND "
            f"{inner} <= '{parts.largest(scheme, 63)}'"
        )
        number = " + ".join(
            f"(instr('{digits}', substr({rest}, {i}, 1)) - 1) * {power}"
            for i, power in enumerate(powers, 1)
            if power
        )
    if size:
        check = " || ".join(parts.check_of(scheme, f"(({number}) % {len(checks)})"))
        fits += f" AND {check} = substr({rest}, {-size})"
    # A NUL ends a text for most functions, so its bytes are counted too.
    fits = f"length(CAST(:text AS BLOB)) = length(:text) AND {fits}"
    if scheme.prefix:
        fits = f"substr(:text, 1, {start - 1}) = '{scheme.prefix}' AND {fits}"
    return f"CASE WHEN {fits} AND {_valid(scheme, f'({number})')} THEN {number} END"
