"""The blocks of each how-to page import only what its ``pip install`` lines bring."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.docblocks import blocks

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]
# The module of frazil, the driver in the URL, or the import: the package on PyPI.
PACKAGES = {
    "frazil.attrs": "attrs",
    "frazil.dask": "dask",
    "frazil.django": "django",
    "frazil.duckdb": "duckdb",
    "frazil.msgspec": "msgspec",
    "frazil.pandas": "pandas",
    "frazil.polars": "polars",
    "frazil.pydantic": "pydantic",
    "frazil.ray": "ray",
    "frazil.spark": "pyspark",
    "frazil.sqlalchemy": "sqlalchemy",
    "frazil_conformance": "frazil-conformance",
    "postgresql": "psycopg",
    "postgresql+asyncpg": "asyncpg",
    "postgresql+psycopg": "psycopg",
    "redis": "redis",
    "rest_framework": "djangorestframework",
    "prometheus_client": "prometheus-client",
}
IMPORT = re.compile(r"^ *(?:from|import) ([\w.]+)", re.MULTILINE)
INSTALL = re.compile(r"pip install ([^\n`#]*)")
REQUIREMENT = re.compile(r"([\w-]+)(?:\[([\w,-]+)\])?")
URL = re.compile(r"\"(redis|postgresql(?:\+\w+)?)://")


def needed(page):
    """The packages that the Python blocks of a page import, or name in a URL."""
    found = [block for block in blocks(page) if block.kind == "python"]
    own = {block.file.partition("/")[0].removesuffix(".py") for block in found if block.file}
    names = set()
    for block in found:
        for name in IMPORT.findall(block.text):
            top = name.partition(".")[0]
            if top == "frazil":
                names.add(".".join(name.split(".")[:2]))
            elif top not in sys.stdlib_module_names | own:
                names.add(top)
        names |= set(URL.findall(block.text))
    return {PACKAGES.get(name, name) for name in names if not is_own(name)}


def is_own(name):
    """Whether a module is of frazil, and needs nothing else."""
    return name.partition(".")[0] == "frazil" and name not in PACKAGES


def installed(words):
    """The packages of the arguments of pip, with those of the extras of frazil."""
    found = set()
    for word in words:
        if word.startswith("./"):  # a package of this checkout
            project = (ROOT / word / "pyproject.toml").read_text(encoding="utf-8")
            found.add(tomllib.loads(project)["project"]["name"])
            continue
        name, extras = REQUIREMENT.match(word).groups()
        found.add(name)
        if name == "frazil" and extras:
            for extra in extras.split(","):
                found |= installed(EXTRAS[extra])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_installs_what_its_blocks_import(page):
    words = [word for line in INSTALL.findall(page.read_text("utf-8")) for word in line.split()]
    assert needed(page) <= installed(word.strip('"(),') for word in words)


def test_a_package_that_is_missing_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nimport frazil.polars\n```\n", encoding="utf-8")
    assert needed(page) == {"polars"}
    assert "polars" in installed(["frazil[polars]"]) - installed(["frazil[pandas]"])
