"""Tables, seeds, texts and the published vectors."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from frazil.errors import ConfigError, LayoutError
from frazil.schemes.shuffle import METHODS, Shuffle

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "chibrary.json").read_text())
HELLO_8 = (3, 2, 7, 1, 6, 4, 5, 0)
HELLO_128 = "ce7afb42d6ddcb92"
CHIBRARY = Shuffle(tuple(VECTORS["shuffle_table"]))


def test_the_table_of_a_seed_never_changes() -> None:
    assert METHODS == ("v1",)
    assert Shuffle.from_seed("hello", 8).table == HELLO_8
    wide = Shuffle.from_seed("hello", 128).table
    assert sha256(str(wide).encode()).hexdigest()[:16] == HELLO_128


@pytest.mark.parametrize(
    "table",
    [(), (1,), (0, 0), (0, 2), (-1, 0), (True, False), (0.0, 1), ("0",), tuple(range(129))],
    ids=lambda table: str(table)[:20],
)
def test_tables_that_are_not_a_permutation(table: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError):
        Shuffle(table)


@pytest.mark.parametrize(
    "seed",
    ["", True, None, 1.5, 1 << 100_000, "\ud800"],
    ids=["empty", "bool", "None", "float", "long", "surrogate"],
)
def test_invalid_seeds(seed: object) -> None:
    with pytest.raises(ConfigError, match="seed"):
        Shuffle.from_seed(seed, 64)  # type: ignore[arg-type]


def test_methods_and_widths_that_are_not() -> None:
    with pytest.raises(ConfigError, match="v1"):
        Shuffle.from_seed("hello", 64, version="v0")
    for bits in (0, 129, True, 1.0):
        with pytest.raises(ConfigError, match="128"):
            Shuffle.from_seed("hello", bits)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seed:hello",
        "seed:v9:hello",
        "table:1,0,",
        "table:01,0",
        "table:1, 0",
        "table:2,1,0",
        "table:V2:1,0",
        "table:\u0661,0",
    ],
)
def test_invalid_texts_of_a_shuffle_of_two_bits(text: str) -> None:
    with pytest.raises(ConfigError):
        Shuffle.parse(text, 2)


def test_versions_are_names() -> None:
    assert Shuffle((1, 0), version="v2").text == "table:v2:1,0"
    for version in ("V2", "2", "v 2", "v" * 17, None):
        with pytest.raises(ConfigError, match="v2"):
            Shuffle((1, 0), version=version)  # type: ignore[arg-type]


@pytest.mark.parametrize("bit", [-1, 47, True, 1.0])
def test_bits_that_are_not_there(bit: object) -> None:
    with pytest.raises(LayoutError, match="46"):
        CHIBRARY.position_of(bit)  # type: ignore[arg-type]
