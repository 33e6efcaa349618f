"""Functions for PostgreSQL (12 or newer) that read the IDs of one scheme.

    SELECT order_time(id), order_node(id), order_text(id) FROM orders
     WHERE id >= order_from('2026-11-01Z') AND id < order_from('2026-12-01Z');

A query by time needs no second column and no second index, if the bound is a constant when the
query is planned. So every function is IMMUTABLE, and for that it must not depend on a setting of
the session: the usual ``timestamptz + interval`` depends on the time zone, and ``to_timestamp`` of
a float is a microsecond off in some years. Here days and microseconds are added to a ``timestamp``,
which has no zone, and the sum is declared to be UTC.

Functions that only read are plain SQL expressions, which PostgreSQL puts into the query; none calls
another one, because an index is built with a ``search_path`` that does not find it. Functions that
may refuse (``id`` of a text, ``from`` and ``window``) are PL/pgSQL.

IDs of up to 64 bits are BIGINT, which must hold all of them. IDs of 128 bits are ``uuid``.
"""

from frazil.errors import ConfigError, LayoutError
from frazil.schemes.alphabet import digits_of
from frazil.schemes.scheme import Scheme
from frazil.schemes.segments import Segment, segments_of
from frazil.sql import parts
from frazil.sql.parts import checked_name, fixed_of, parts_of, quoted, refuse_unreadable, window

_MOST_US = (1 << 63) - 1  # in the year 294247, which timestamptz just reaches
_DAY_US = 86_400_000_000
_HALVES = ("left", "right")


def functions(scheme: Scheme, name: str, schema: str = "public") -> str:
    """The statements that make the functions ``name_time(id)`` and so on. They may be repeated.

    Raises ConfigError for a scheme whose IDs no column type holds, or an invalid name.
    """
    made = _Functions(scheme, name, schema)
    head = (
        f"-- Functions for IDs of scheme {scheme.name}, for PostgreSQL 12 or newer:\n"
        f"-- {scheme.layout}\n"
    )
    return head + "".join(f"\n{text}\n" for text in made.all().values())


def drop_functions(scheme: Scheme, name: str, schema: str = "public") -> str:
    """The statements that remove the functions."""
    made = _Functions(scheme, name, schema)
    return "".join(f"DROP FUNCTION IF EXISTS {sign};\n" for sign in made.all() if "(" in sign)


class _Functions:
    """The functions of one scheme, by signature."""

    def __init__(self, scheme: Scheme, name: str, schema: str) -> None:
        checked_name(name, "--name")
        refuse_unreadable(scheme)
        self.scheme, self.name, self.schema = scheme, name, quoted(schema)
        self.wide = scheme.bits == 128
        if not self.wide and not scheme.signed_safe:
            raise ConfigError(
                f"IDs of scheme {scheme.name!r} go up to {scheme.id_max} and a BIGINT to "
                f"{2**63 - 1}; use a scheme with a sign bit, or one of 128 bits for type uuid",
                scheme=scheme.name,
                limit=2**63 - 1,
            )
        self.type = "uuid" if self.wide else "bigint"

    def all(self) -> dict[str, str]:
        """Each function by its signature; a remark has a key without a parenthesis."""
        scheme = self.scheme
        made: dict[str, str] = {}
        found = parts_of(scheme)
        if scheme.layout.tick_us is not None:
            made |= self._sql("time", "timestamptz", self._time(found["tick"]))
        for part, positions in found.items():
            kind = "numeric" if len(positions) > 62 else "bigint"
            made |= self._sql(part, kind, self._value(positions))
        made |= self._sql("text", "text", self._text())
        made |= self._plpgsql("id", "value text", self.type, *self._read())
        try:
            made |= self._windows()
        except LayoutError as error:
            made["from"] = f"-- No {self.name}_from: {error}"
        return made

    def _sql(self, part: str, kind: str, expression: str) -> dict[str, str]:
        """A function of an ID, NULL for what is not an ID of the scheme."""
        sign = f"{self.schema}.{quoted(f'{self.name}_{part}')}({self.type})"
        valid = self._valid("id", fixed_of(self.scheme, 128 if self.wide else 64))
        return {
            sign: f"CREATE OR REPLACE FUNCTION {sign[:-1].replace('(', '(id ')}) RETURNS {kind}\n"
            "LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $frazil$\n"
            f"    SELECT CASE WHEN {valid} THEN {expression} END\n"
            "$frazil$;"
        }

    def _plpgsql(
        self, part: str, given: str, kind: str, declared: str, body: str
    ) -> dict[str, str]:
        types = ", ".join(one.split()[1] for one in given.split(", "))
        called = f"{self.schema}.{quoted(f'{self.name}_{part}')}"
        return {
            f"{called}({types})": f"CREATE OR REPLACE FUNCTION {called}({given}) RETURNS {kind}\n"
            "LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $frazil$\n"
            f"DECLARE\n{declared}BEGIN\n{body}END\n$frazil$;"
        }

    # --- numbers

    def _word(self, n: str, half: int) -> str:
        """64 bits of an ID as a bigint, which may be negative. half: 0 has the lower bits."""
        if not self.wide:
            return n
        side = _HALVES[1 - half]
        return f"('x' || {side}(replace({n}::text, '-', ''), 16))::bit(64)::bigint"

    def _valid(self, n: str, fixed: tuple[int, int]) -> str:
        """The condition that a number has the scheme's constants."""
        found = []
        for half in range(2 if self.wide else 1):
            mask, value = (number >> 64 * half & (1 << 64) - 1 for number in fixed)
            if mask == 1 << 63 and not value:
                found.append(f"{self._word(n, half)} >= 0")
            elif mask:
                found.append(f"({self._word(n, half)} & {_literal(mask)}) = {_literal(value)}")
        return " AND ".join(found) or f"{n} IS NOT NULL"

    def _value(self, positions: tuple[int, ...]) -> str:
        """The value whose bits lie at positions of the ID."""
        if len(positions) <= 62:
            return " | ".join(
                f"({self._cut(each)} << {each.target})" if each.target else self._cut(each)
                for each in segments_of(positions)
            )
        found = segments_of(positions, longest=32)
        return " + ".join(f"{self._cut(each)}::numeric * {1 << each.target}" for each in found)

    def _cut(self, segment: Segment) -> str:
        word, shift = self._word("id", segment.source // 64), segment.source % 64
        text = f"({word} >> {shift})" if shift else word
        return f"({text} & {_literal(segment.mask)})"

    def _time(self, positions: tuple[int, ...]) -> str:
        """The beginning of the tick, exact to the microsecond, whatever the session's settings."""
        layout, tick = self.scheme.layout, f"({self._value(positions)})"
        assert layout.tick_us is not None
        assert layout.epoch_us is not None
        last = (_MOST_US - layout.epoch_us) // layout.tick_us
        us = f"({tick} * {_literal(layout.tick_us)} + {_literal(layout.epoch_us)})"
        days, rest = f"{us} / {_literal(_DAY_US)}", f"{us} % {_literal(_DAY_US)}"
        if len(positions) > 62:
            days = f"div({us}, {_DAY_US})"
        moment = (
            "(timestamp '1970-01-01' + make_interval("
            f"days => ({days})::integer, secs => ({rest}) / 1000000::double precision)) "
            "AT TIME ZONE 'UTC'"
        )
        if len(positions) > 62:
            moment = moment.replace(f"({rest})", f"({rest})::double precision")
        if 1 << len(positions) > last:
            return f"CASE WHEN {tick} <= {last} THEN {moment} END"
        return moment

    # --- text

    def _text(self) -> str:
        scheme = self.scheme
        prefix = f"'{scheme.prefix}' || " if scheme.prefix else ""
        if scheme.encoding == "hex" and not (scheme.check or scheme.group):
            digits = f"lpad(to_hex(id), {parts.width_of(scheme)}, '0')"
            return prefix + ("replace(id::text, '-', '')" if self.wide else digits)
        if scheme.encoding == "uuid":
            return f"{prefix}id::text"
        whole = self._value(tuple(range(128))) if self.wide else "id"
        n = "w.n" if self.wide else "id"
        checks = parts.check_of(scheme, self._digit(n, 1, len(parts.checks(scheme))))
        if scheme.encoding == "decimal":
            text = " || ".join([f"({n})::text", *checks])
            if scheme.group:
                text = f"rtrim({' || '.join(parts.cut(scheme, f'({text})'))}, '-')"
        else:
            digits = digits_of(scheme.encoding)
            found = [
                f"substr('{digits}', {self._digit(n, power, len(digits))} + 1, 1)"
                if power
                else f"'{digits[0]}'"
                for power in parts.powers_below(scheme, 128 if self.wide else 63)
            ]
            text = " || ".join(parts.in_groups([*found, *checks], scheme.group))
        from_whole = f"FROM (SELECT {whole}) AS w(n)"
        return f"(SELECT {prefix}{text} {from_whole})" if self.wide else prefix + text

    def _digit(self, n: str, power: int, base: int) -> str:
        if self.wide:
            return f"mod(div({n}, {power}), {base})::integer"
        return f"({n} / {_literal(power)} % {base})::integer"

    def _read(self) -> tuple[str, str]:
        """Declarations and statements that turn a text into an ID."""
        scheme, width = self.scheme, parts.width_of(self.scheme)
        limit = (1 << (scheme.bits if self.wide else min(scheme.bits, 63))) - 1
        checks = parts.checks(scheme)
        size = len(checks[0])
        exact = self.wide or scheme.encoding == "decimal"
        made = _uuid_of("n") if self.wide else "n"
        body = f"left(given, {-size})" if size else "given"
        if scheme.encoding == "decimal":
            fits, number = f"body::numeric <= {limit}", "            n := body::numeric;\n"
        elif scheme.encoding == "uuid":
            fits, number, made = "true", "", "body::uuid"
        else:
            digits = digits_of(scheme.encoding)
            # Digits are in the order of their characters, and the texts have one length.
            fits = f"body <= '{parts.largest(scheme, 128 if self.wide else 63)}'"
            number = (
                f"            FOR i IN 1..{width} LOOP\n"
                f"                n := n * {len(digits)}"
                f" + (strpos('{digits}', substr(body, i, 1)) - 1);\n"
                "            END LOOP;\n"
            )
        if size:
            check = " || ".join(parts.check_of(scheme, f"mod(n, {len(checks)})::integer"))
            made = f"CASE WHEN {check} = right(given, {size}) THEN {made} END"
        given = f"substr(given, {len(scheme.prefix) + 1})"
        if scheme.encoding != "uuid":
            given = parts.typed(scheme, given)
        valid = self._valid("made", fixed_of(scheme, 128 if self.wide else 64))
        pattern = scheme.codec.pattern.replace("\\*", "*")
        return (
            '    given text COLLATE "C" := value;\n'
            '    body text COLLATE "C";\n'
            f"    n {'numeric' if exact else 'bigint'} := 0;\n"
            f"    made {self.type};\n"
        ), (
            f"    IF given ~ '{pattern}' THEN\n"
            f"        given := {given};\n"
            f"        body := {body};\n"
            f"        IF {fits} THEN\n{number}"
            f"            made := {made};\n"
            "        END IF;\n"
            "    END IF;\n"
            f"    IF made IS NULL OR NOT ({valid}) THEN\n"
            f"        RAISE EXCEPTION '% is not an ID of scheme {_inside(scheme.name)}',\n"
            "            quote_literal(left(value, 256))\n"
            "            USING ERRCODE = 'invalid_text_representation';\n"
            "    END IF;\n"
            "    RETURN made;\n"
        )

    # --- windows

    def _windows(self) -> dict[str, str]:
        base, shift = window(self.scheme)
        layout = self.scheme.layout
        tick_us, epoch_us, end = layout.tick_us, layout.epoch_us, layout.axis_end
        kind = "numeric" if self.wide else "bigint"
        declared = f"    tick {kind};\n"

        def first(moment: str) -> tuple[str, str]:
            since = f"(extract(epoch FROM {moment}) * 1000000)::{kind} - {epoch_us}"
            # Rounded up: the tick that holds the moment may have begun before it.
            up = f"({since} + {tick_us} - 1) / {tick_us}"
            tick = f"floor({up})" if self.wide else up
            id_ = f"{base} + tick * {1 << shift}" if self.wide else f"{base} + (tick << {shift})"
            return (
                f"    tick := {tick};\n"
                f"    IF {since} < 0 OR tick >= {end} THEN\n"
                f"        RAISE EXCEPTION '% is outside the time field of scheme "
                f"{_inside(self.scheme.name)}', {moment}\n"
                "            USING ERRCODE = 'datetime_field_overflow';\n    END IF;\n"
            ), (_uuid_of(f"({id_})") if self.wide else id_)

        text, id_ = first("moment")
        made = self._plpgsql(
            "from", "moment timestamptz", self.type, declared, f"{text}    RETURN {id_};\n"
        )
        if not self.wide:
            (a, low), (b, high) = first("start"), first("stop")
            declared += "    low bigint;\n"
            body = f"{a}    low := {low};\n{b}    RETURN int8range(low, {high});\n"
            given = "start timestamptz, stop timestamptz"
            made |= self._plpgsql("window", given, "int8range", declared, body)
        return made


def _literal(number: int) -> str:
    """A number of 64 bits as a bigint with the same bits; small ones need no cast."""
    signed = number - (1 << 64) if number >> 63 else number
    return str(signed) if 0 <= signed < 1 << 31 else f"'{signed}'::bigint"


def _uuid_of(n: str) -> str:
    """A numeric of up to 128 bits as a uuid."""
    words = [
        f"lpad(to_hex(mod(div({n}, {1 << shift}), {1 << 32})::bigint), 8, '0')"
        for shift in (96, 64, 32, 0)
    ]
    return f"({' || '.join(words)})::uuid"


def _inside(text: str) -> str:
    """A text inside the format of RAISE, in quotes."""
    return text.replace("'", "''").replace("%", "%%")
