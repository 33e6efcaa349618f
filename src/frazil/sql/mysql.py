"""Functions for MySQL (8 or newer) and MariaDB that read the IDs of one scheme.

Each body is one expression, so that the ``mysql`` client needs no other delimiter. An expression
cannot raise an error: what is not an ID, and a text that is not the text of one, is NULL.

A time is a DATETIME(6) in UTC, and so is the moment that ``from`` takes. Neither server accepts a
stored function in an index or a generated column. A bound of ``from`` uses the index of the IDs,
because it is a constant (DETERMINISTIC).

An ID is BIGINT UNSIGNED, which holds all of 64 bits; a signed column is converted.
"""

from frazil.errors import ConfigError, LayoutError
from frazil.schemes.alphabet import digits_of
from frazil.schemes.scheme import Scheme
from frazil.sql import parts

_TEXT = "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_ID = "BIGINT UNSIGNED"


def functions(scheme: Scheme, name: str) -> str:
    """The statements that make the functions ``name_time(id)`` and so on. They may be repeated.

    Raises ConfigError for a scheme of more than 64 bits, or an invalid name.
    """
    head = (
        f"-- Functions for IDs of scheme {scheme.name}, for MySQL 8 or MariaDB:\n"
        f"-- {scheme.layout}\n"
        "-- The result is NULL for a value that is not an ID. Times are UTC.\n"
    )
    return head + "".join(
        f"\nDROP FUNCTION IF EXISTS {called};\n"
        f"CREATE FUNCTION {called}({given}) RETURNS {kind} DETERMINISTIC NO SQL\n"
        f"    RETURN {expression};\n"
        for called, (given, kind, expression) in _all(scheme, name).items()
    )


def drop_functions(scheme: Scheme, name: str) -> str:
    """The statements that remove the functions."""
    return "".join(f"DROP FUNCTION IF EXISTS {called};\n" for called in _all(scheme, name))


def _all(scheme: Scheme, name: str) -> dict[str, tuple[str, str, str]]:
    """Parameter, type and expression of each function."""
    parts.checked_name(name, "--name")
    parts.refuse_unreadable(scheme)
    if scheme.bits > 64:
        raise ConfigError(
            f"IDs of scheme {scheme.name!r} have {scheme.bits} bits, and MySQL's expressions 64; "
            "use a scheme of up to 64 bits, or read the IDs in the application",
            scheme=scheme.name,
            limit=64,
        )
    valid, given = _valid(scheme, "id"), f"id {_ID}"
    values = {part: parts.value_of(at, "id") for part, at in parts.parts_of(scheme).items()}
    found = {}
    tick_us, epoch_us = scheme.layout.tick_us, scheme.layout.epoch_us
    if tick_us is not None and epoch_us is not None:
        last = (parts.LAST_US - epoch_us) // tick_us
        us = f"({values['tick']}) * {tick_us} + {epoch_us}"
        time = f"TIMESTAMP'1970-01-01 00:00:00' + INTERVAL ({us}) MICROSECOND"
        time = f"CASE WHEN {valid} AND ({values['tick']}) < {last} THEN {time} END"
        found["time"] = given, "DATETIME(6)", time
    for part, value in values.items():
        found[part] = given, _ID, f"CASE WHEN {valid} THEN {value} END"
    found["text"] = given, _TEXT, f"CASE WHEN {valid} THEN {_text(scheme)} END"
    found["id"] = f"value {_TEXT}", _ID, _id(scheme)
    try:
        base, shift = parts.window(scheme)
    except LayoutError:
        return {parts.quoted(f"{name}_{part}", "`"): function for part, function in found.items()}
    us = f"(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', moment) - {epoch_us})"
    tick = f"(({us} + {(tick_us or 0) - 1}) DIV {tick_us})"
    bound = f"CASE WHEN {us} >= 0 AND {tick} < {scheme.layout.axis_end} THEN "
    bound += f"{base} + (CAST({tick} AS UNSIGNED) << {shift}) END"
    found["from"] = "moment DATETIME(6)", _ID, bound
    return {parts.quoted(f"{name}_{part}", "`"): function for part, function in found.items()}


def _valid(scheme: Scheme, n: str) -> str:
    mask, value = parts.fixed_of(scheme, 64)
    return f"({n} & {mask}) = {value}"


def _text(scheme: Scheme) -> str:
    checks = parts.check_of(scheme, f"(id % {len(parts.checks(scheme))})")
    prefix = [repr(scheme.prefix)]
    if scheme.encoding == "decimal":
        found = ["CAST(id AS CHAR)", *checks]
        if scheme.group:
            groups = parts.cut(scheme, f"CONCAT({', '.join(found)})")
            found = [f"TRIM(TRAILING '-' FROM CONCAT({', '.join(groups)}))"]
    elif scheme.encoding == "hex" and not (checks or scheme.group):
        found = [f"LPAD(LOWER(HEX(id)), {parts.width_of(scheme)}, '0')"]
    else:
        digits = digits_of(scheme.encoding)
        found = [f"SUBSTRING('{digits}', id DIV {power} % {len(digits)} + 1, 1)" for power in
                 parts.places(scheme)]  # fmt: skip
        found = parts.in_groups([*found, *checks], scheme.group)
    return f"CONCAT({', '.join([*prefix, *found])})"


def _id(scheme: Scheme) -> str:
    """The ID of ``value``; NULL for any other text."""
    digits, checks = digits_of(scheme.encoding), parts.checks(scheme)
    size, start = len(checks[0]), len(scheme.prefix) + 1
    pattern = scheme.codec.pattern.replace("\\*", "*")
    rest = parts.typed(scheme, f"SUBSTRING(value, {start})")
    # A pattern's end is also before a newline that ends the text.
    fits = f"value REGEXP '{pattern}' AND value NOT REGEXP '[^0-9A-Za-z_*~$= -]' AND "
    if scheme.encoding == "decimal":
        limit = str(parts.limit_of(scheme, 64))
        inner = f"LEFT({rest}, CHAR_LENGTH({rest}) - {size})" if size else rest
        fits += f"(LENGTH({inner}) < {len(limit)} OR {inner} <= '{limit}')"
        number = f"CAST({inner} AS UNSIGNED)"
        padded, powers = f"LPAD({inner}, {len(limit)}, '0')", [10**i for i in range(len(limit))]
        terms = _terms(padded, digits, powers[::-1])
    else:
        terms = _terms(rest, digits, parts.places(scheme))
        inner = f"LEFT({rest}, {len(terms)})"
        fits += f"{inner} <= '{parts.largest(scheme, 64)}'"
        number = " + ".join(f"CAST({place} AS UNSIGNED) * {power}" for place, power in terms)
    # The number of another text may not fit, and AND does not keep it from being computed.
    valid = _valid(scheme, f"({number})")
    if size:
        # MariaDB may compute this for any text, so in DECIMAL, where every number fits.
        exact = " + ".join(f"({place}) * {power}.0" for place, power in terms)
        check = parts.check_of(scheme, f"(({exact}) % {len(checks)})")
        valid += f" AND CONCAT({', '.join(check)}) = RIGHT({rest}, {size})"
    return f"CASE WHEN {fits} THEN CASE WHEN {valid} THEN {number} END END"


def _terms(text: str, digits: str, powers: list[int]) -> list[tuple[str, int]]:
    """The value and the power of each digit of a text."""
    return [
        (f"LOCATE(SUBSTRING({text}, {i}, 1), '{digits}') - 1", power)
        for i, power in enumerate(powers, 1)
    ]
