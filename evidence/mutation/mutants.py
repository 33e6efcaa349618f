"""The mutants of a file, as cosmic-ray makes them, without those that would show nothing.

These are left out: other operators for ``|``, which is mostly in annotations here; ``is`` for
``==``, which is the same for small numbers; all but a few replacements of a binary operator, since
a test that notices one wrong number notices all; and changes of assertions, which no test notices.
"""

from collections.abc import Iterator
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from evidence.mutation.mutant import Mutant

__all__ = ["mutants_of"]

_KEPT = ("_Add", "_Sub", "_FloorDiv")
_SAME = ("_Is", "_IsNot", "Operator_Is_Eq", "Operator_IsNot_NotEq")


def _says_something(name: str) -> bool:
    if "ReplaceBinaryOperator_BitOr" in name:
        return False
    if "ReplaceBinaryOperator" in name:
        return name.endswith(_KEPT)
    return not name.endswith(_SAME)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Each mutant of a file, in the order of operators and lines."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    tree = get_ast_from_path(path)
    for name in sorted(filter(_says_something, operator_names())):
        kind = get_operator(name)
        if kind.arguments():
            continue
        operator = kind()
        places = (place for node in ast_nodes(tree) for place in operator.mutation_positions(node))
        for occurrence, ((line, _), _) in enumerate(places):
            if lines[line - 1].lstrip().startswith("assert "):
                continue
            mutated = mutate_code(source, operator, occurrence)
            if mutated and mutated != source:
                yield Mutant(name.partition("/")[2], line, lines[line - 1].strip(), mutated)
