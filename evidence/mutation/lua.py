"""The mutants of a Lua script: one operator, number or function changed to its nearest neighbour.

No mutation tester for Lua is maintained. The typical errors of a script are a comparison that is
off by one, a wrong sign, or a maximum instead of a minimum. Each of these is a single word of the
language, so the words outside comments and texts are found and exchanged.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from evidence.mutation.mutant import Mutant

__all__ = ["lua_mutants_of"]

_WORD = re.compile(
    r"(?P<skip>--[^\n]*|'(?:\\.|[^'\\\n])*')"
    r"|(?P<name>[A-Za-z_][\w.]*)"
    r"|(?P<number>\d+)"
    r"|(?P<sign>==|~=|<=|>=|\.\.|[<>+*/%-])"
)
_OTHER = {
    "==": "~=",
    "~=": "==",
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "%": "*",
    "and": "or",
    "or": "and",
    "not": "",
    "true": "false",
    "false": "true",
    "break": "",
    "math.max": "math.min",
    "math.min": "math.max",
    "math.floor": "math.ceil",
    "math.ceil": "math.floor",
}


def lua_mutants_of(path: Path) -> Iterator[Mutant]:
    """Each mutant of a script, in the order of its words."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for word in _WORD.finditer(source):
        text = word[0]
        other = str(int(text) + 1) if word["number"] else _OTHER.get(text)
        if word["skip"] or other is None:
            continue
        line = source.count("\n", 0, word.start()) + 1
        mutated = source[: word.start()] + other + source[word.end() :]
        yield Mutant(f"{text} to {other or 'nothing'}", line, lines[line - 1].strip(), mutated)
