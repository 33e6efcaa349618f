"""The pictures in the docs: each is shown, small, and can be taken again."""

import re
from pathlib import Path

import pytest

from tests.browser.pictures import FOLDER, NAMES, take

PAGE = (FOLDER.parent / "service.md").read_text(encoding="utf-8")
PNG = b"\x89PNG\r\n\x1a\n"
MOST_BYTES = 250_000


def size(picture: Path) -> tuple[int, int]:
    """Return width and height from the header of a PNG."""
    head = picture.read_bytes()[:24]
    assert head.startswith(PNG)
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def test_every_picture_is_shown_and_every_one_shown_is_there():
    shown = re.findall(r"!\[[^\]]+\]\(console/(\w+)\.png\)", PAGE)
    assert sorted(shown) == sorted(NAMES) == sorted(path.stem for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_small(name):
    assert (FOLDER / f"{name}.png").stat().st_size < MOST_BYTES


def test_pictures_are_taken_again(tmp_path):
    for picture in take(tmp_path, ("plan", "watch"), seconds=1):
        assert size(picture) == size(FOLDER / picture.name)
