"""Pages list what the code has, and list all of it.

docs/reference/configuration.md lists every option of a URL and every key of frazil.toml;
docs/how-to/security.md names a test for each defence, docs/evidence/frameworks.md some for each
fault that strangers found, and the tests are there.
"""

import ast
import re
from pathlib import Path

import pytest

import frazil
from frazil.inputs.kinds import KINDS
from frazil.service.settings import read_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
TLS = {"ca", "cert", "key"}
ROWS = [row for row in re.findall(r"^\| (`.+?`) \| (.+) \|$", PAGE, re.MULTILINE) if ":" in row[0]]
URLS = {url: options for urls, options in ROWS for url in re.findall(r"`([a-z]+:[^`]*)`", urls)}
BY_KIND = {url.partition(":")[0]: (url, options) for url, options in URLS.items()}
ANY = {"postgresql", "postgres"}  # libpq refuses what it does not know
TABLES = {
    "server": "[server]\nx = 1",
    "namespaces.NAME": "[namespaces.a]\nx = 1",
    "tokens": '[[tokens]]\nname = "a"\nhash = "sha256:{}"\nnamespaces = ["*"]\n'
    'scopes = ["issue"]\nx = 1'.format("0" * 64),
}


def known(error):
    """The names that an error lists as known."""
    return set(re.findall(r"[a-z_]+", re.split(r"known (?:here|keys): ", str(error))[1]))


def test_each_kind_of_url_is_on_the_page():
    assert set(BY_KIND) == set(KINDS)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - ANY))
def test_the_options_of_a_url(kind):
    url, options = BY_KIND[kind]
    place = "static:7" if kind == "static" else url
    with pytest.raises(frazil.errors.ConfigError) as caught:
        frazil.open(f"{place}?unknown=1")
    expected = known(caught.value)
    if kind + "s" in KINDS:  # the kind without TLS refuses them with the other kind's name
        expected -= TLS
    assert set(re.findall(r"\?([a-z]+)=", options)) == expected


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_keys_of_a_table(name, tmp_path):
    file = tmp_path / "frazil.toml"
    file.write_text(TABLES[name], encoding="utf-8")
    with pytest.raises(frazil.errors.ConfigError) as caught:
        read_settings(file)
    begin = rf"(?ms)^### `\[+{re.escape(name)}\]+`\n"
    (section,) = re.findall(begin + r"(.+?)(?=^#|\Z)", PAGE)
    keys = {
        key
        for cell in re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", cell)
    }
    assert keys == known(caught.value)


SECURITY = (ROOT / "docs" / "how-to" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::([\w:]+)`")
DEFENCES = [line for line in SECURITY.splitlines() if line.startswith("| ")]


def exists(file: str, name: str) -> bool:
    """Whether a test of that name, ``Class::test`` or ``test``, is in the file."""
    body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for part in name.split("::"):
        found = [
            node
            for node in body
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part
        ]
        if not found:
            return False
        body = found[0].body
    return name.rpartition("::")[2].startswith("test_")


@pytest.mark.parametrize("row", DEFENCES[1:], ids=lambda row: row.split("|")[1].strip())
def test_each_defence_names_a_test_that_exists(row: str) -> None:
    named = NAMED.findall(row)
    assert named
    assert [each for each in named if not exists(*each)] == []


def test_each_letter_of_a_stranger_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "evidence" / "frameworks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [A-Z]\d.*$", page, re.MULTILINE)
    assert len(rows) > 15
    named = {name for row in rows for name in re.findall(r"(?:`|::)(test_\w+)`", row)}
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")]
    assert named <= {name for text in texts for name in re.findall(r"def (test_\w+)", text)}
