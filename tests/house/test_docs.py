"""Every fenced block of the README, CONTRIBUTING and docs/ is run, and must show what it says."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import frazil
from tests.house import docblocks
from tests.house.docblocks import Block, blocks, commands, matches
from tests.servers.postgres import postgres

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# These start programs again and again, for ten seconds of a processor or more.
LONG = {
    "docs/explain/clocks.md",
    "docs/how-to/backups.md",
    "docs/how-to/celery.md",
    "docs/how-to/django.md",
    "docs/how-to/files.md",
    "docs/how-to/languages.md",
    "docs/how-to/web-servers.md",
    "docs/evidence/torture.md",
}
PATH = re.compile(
    r"`((?:src|tests|docs|evidence|deploy|release)/"
    r"[\w./-]*[\w/])[`:]"
)
LINK = re.compile(r"\]\(([^)\s:#]+)(?:#[^)\s]*)?\)")
NOT_RUN = [block for page in PAGES if page.exists() for block in blocks(page) if block.not_run]


def is_here(block: Block) -> bool:
    """Whether a block has the file that it needs; in CI it must."""
    here = block.needs is None or Path(block.needs).exists()
    assert here or os.environ.get("CI") != "true", f"{block} needs {block.needs}"
    return here


@contextmanager
def server_of(page: Path) -> Iterator[str | None]:
    """The address of a PostgreSQL for a page that needs one."""
    if not docblocks.needs_postgres(page):
        yield None
        return
    with postgres() as server:
        server.sql("CREATE DATABASE app")
        yield f"127.0.0.1:{server.port}"


def run(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every block of a page, from top to bottom, in an empty folder."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    namespace: dict[str, Any] = {"__name__": "page"}
    with server_of(page) as address:
        try:
            for block in blocks(page, address):
                if not block.not_run and is_here(block):
                    run_block(block, folder, namespace)
        finally:
            for value in namespace.values():
                if isinstance(value, frazil.Generator | sqlite3.Connection):
                    value.close()
            docblocks.end_all(folder.resolve())


def run_block(block: Block, folder: Path, namespace: dict[str, Any]) -> None:
    """Run one block, as its kind tells, or make it a file of the folder."""
    if block.file:
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{block.text}\n", encoding="utf-8")
    elif block.kind == "python":
        docblocks.run_python(block, namespace)
    elif block.kind == "console":
        docblocks.run_console(block, folder)
    else:
        raise AssertionError(f"{block}: a {block.kind!r} block needs a reason not to run")


def name_of(page: Path) -> str:
    """Its path in the repository."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page, id=name_of(page), marks=[pytest.mark.long] if name_of(page) in LONG else []
        )
        for page in PAGES
    ],
)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page, tmp_path / "empty", monkeypatch)


@pytest.mark.parametrize("block", NOT_RUN, ids=str)
def test_not_run(block: Block) -> None:
    """Lists, as skipped tests with their reasons, the blocks that are shown and not run.

    An installation from this folder is no exception to the rule: `.ci/run` holds it, word for word.
    """
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for command, _ in commands(block) if block.kind == "console" else []:
        if "pip install ." in command or 'pip install ".' in command:
            assert all(part.strip() in script for part in command.split("&&")), command
    pytest.skip(str(block.not_run))


def test_the_pages_that_are_long_exist() -> None:
    assert set(map(name_of, PAGES)) > LONG


def missing(page: Path) -> list[str]:
    """The paths that a page names and that are not there."""
    return [
        path
        for path in PATH.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists()
    ]


def test_the_paths_that_a_page_names_exist() -> None:
    assert {name_of(page): missing(page) for page in PAGES if missing(page)} == {}


def dead_links(page: Path) -> list[str]:
    """The relative links of a page that lead to no file of the repository.

    The pages that the build of the site generates are no files of it.
    """
    text = page.read_text(encoding="utf-8")
    return [link for link in LINK.findall(text) if not (page.parent / link).exists()]


def test_the_links_of_a_page_lead_to_files() -> None:
    assert {name_of(page): dead_links(page) for page in PAGES if dead_links(page)} == {}


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").touch()
    text = "[a](there.md#b), [c](https://example.org), [d](#e), ![f](g.png), [h](../i.md#j)"
    assert dead_links(page_of(tmp_path, text)) == ["g.png", "../i.md"]


def test_a_wrong_path_is_found(tmp_path: Path) -> None:
    text = "`src/frazil/errors.py`, `tests/house/`, `src/frazil/attic.py`, `tests/attic.py::test`"
    assert missing(page_of(tmp_path, text)) == ["src/frazil/attic.py", "tests/attic.py"]


def test_no_output_is_left_out() -> None:
    found = [block for page in PAGES for block in blocks(page)]
    assert [block for block in found if "…" in block.text.splitlines()] == []


def page_of(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


GOOD = """
<!-- varies: literal for int() with base 10 -->
```python
x = 6
x * 7       # → 42
print(x)
# → 6
print("a\\nb")
# → a
# → b
int("six")  # → ValueError: invalid literal for int() with base 10: 'six'
def f():
    return x
f()
# → 6
```
and

<!-- varies: No such file or directory, 3 -->
```console
$ echo one; echo two >&2
one
two
$ cat nothing
cat: nothing: No such file or directory
[exit 1]
$ echo long \\
  command > file
$ seq 2 2 4
2
3
```

```python
import os
import re
from pathlib import Path
Path("file").read_text()  # → 'long command\\n'
```

<!-- not run: it is a picture -->
```text
  o
```
"""


def test_good_page_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(page_of(tmp_path, GOOD), tmp_path / "empty", monkeypatch)


@pytest.mark.parametrize(
    ("block", "error"),
    [
        ("```python\n1 + 1  # → 3\n```", "page.md:2: 1 \\+ 1"),
        ("```python\nprint(1)\n# → 1\n# → 2\n```", "what happens"),
        ("```python\nx = 1  # → 1\n```", "what happens"),
        ("```python\nint('six')\n```", "invalid literal"),
        ("```python\nint('six')  # → 6\n```", "ValueError: invalid"),
        ("```console\n$ echo one\ntwo\n```", r"page.md:2: \$ echo one"),
        ("```console\n$ echo one\n```", "what happens"),
        ("```console\n$ exit 3\n```", r"\[exit 3\]"),
        ("```console\none\n```", "output without a command"),
        ("```text\nx\n```", "needs a reason"),
        ("```\nx\n```", "needs a reason"),
        ("<!-- not run: x -->\nwords between\n```sh\nx\n```", "needs a reason"),
        ("```python\n", "never closed"),
    ],
)
def test_wrong_page_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str, error: str
) -> None:
    page = page_of(tmp_path, block)
    with pytest.raises((AssertionError, ValueError), match=error):
        run(page, tmp_path / "empty", monkeypatch)


def test_only_what_varies_may_differ() -> None:
    assert matches("a b c\n", "a 1 c", ("b",))
    assert matches("12 1", "7 1", ("12",))
    assert matches("a   1,234\n─────────\n", "a   12\n──────\n", ("1,234",))
    assert matches("a  1,234\nb", "a     12\nb", ("1,234",))
    assert matches("1.5", "1.5  \n")
    assert not matches("12 1", "7 2", ("12",))
    assert not matches("1.5", "1x5")
    assert not matches("a b c", "a 1 cd", ("b",))
    assert not matches("", "output")
