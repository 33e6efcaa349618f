"""Fields: where bits lie, and every refusal with its facts."""

import pytest

from frazil.errors import LayoutError
from frazil.layout.field import Piece, fields_of


@pytest.mark.parametrize(
    ("pieces", "field", "words"),
    [
        ([Piece("Node", "fixed", 3, value=0)], "Node", "small letters"),
        ([Piece("a b", "fixed", 3, value=0)], "a b", "small letters"),
        ([Piece("x", "axis", 3)], "x", "a role is one of"),  # type: ignore[arg-type]
        ([Piece("time", "fixed", 3, value=1)], "time", "reserved for their roles"),
        ([Piece("clock", "time", 3)], "clock", "reserved for their roles"),
        ([Piece("run", "node", 3)], "run", "node.run"),
        ([Piece("node", "node", 0, 3)], "node", "higher bit first"),
        ([Piece("node", "node", 3, -1)], "node", "higher bit first"),
        ([Piece("node", "node", 128, 128)], "node", "from 127 down"),
        ([Piece("run", "run", 3, value=2)], "run", "cannot be fixed at 2"),
        ([Piece("mode", "fixed", 3)], "mode", "needs a value"),
        ([Piece("mode", "fixed", 3, value=16)], "mode", "0 to 15"),
        ([Piece("mode", "fixed", 3, value=-1)], "mode", "0 to 15"),
        ([Piece("run", "run", 3), Piece("run", "run", 3)], "run", "has field run twice"),
        ([Piece("run", "run", 3), Piece("run", "run", 1)], "run", "has field run twice"),
        ([Piece("a", "node", 3), Piece("a", "fixed", 7, 4, value=1)], "a", "has field a twice"),
        (
            [Piece("run", "run", 4, 2), Piece("run", "run", 2, 0)],
            "run",
            "bits 2 of run are in more",
        ),
        (
            [Piece("run", "run", 9, 8), Piece("run", "run", 4, 1)],
            "run",
            "bits 0, 5, 6, 7 of run are in no",
        ),
        ([Piece("run", "run", 3, 2, True), Piece("run", "run", 1)], "run", "some are not"),
        (
            [Piece("mode", "fixed", 3, 2, value=1), Piece("mode", "fixed", 1, value=1)],
            "mode",
            "on the first one only",
        ),
        ([Piece("node", "node", 3), Piece("rack", "node", 3)], "node", "whole and in parts"),
    ],
)
def test_invalid_pieces(pieces: list[Piece], field: str, words: str) -> None:
    with pytest.raises(LayoutError) as caught:
        fields_of(tuple(pieces))
    assert words in str(caught.value)
    assert caught.value.field == field
    assert {"value", "limit"} <= caught.value.facts.keys()
