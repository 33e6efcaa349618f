"""What makes a release: the version, its files, the workflows and the man pages."""

import json
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import frazil
from frazil.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", ".github/workflows/*.yml"),
        ("dependabot", ".github/dependabot.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
        ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_files_for_github_keep_their_schemas(schema, pattern):
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    said = subprocess.run(
        [*check, *ROOT.glob(pattern)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_few_rights_and_runs_fixed_actions(path):
    """A tag of an action may move to other code; a commit cannot."""
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    pinned = r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert used
    assert [action for action in used if not re.fullmatch(pinned, action)] == []
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")


def test_every_python_is_declared_tested_and_built():
    classifiers = PROJECT["project"]["classifiers"]
    declared = [name for line in classifiers if re.fullmatch(r"3\.\d+", name := line.split()[-1])]
    test = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert test["jobs"]["quick"]["strategy"]["matrix"]["python"] == declared
    built = [f"cp{name.replace('.', '')}" for name in declared]
    built += [f"{name}t" for name in built if name >= "cp313"]  # without the GIL
    wheels = PROJECT["tool"]["cibuildwheel"]["build"]
    assert sorted(wheels) == sorted(f"{name}-*" for name in built)
    (threads,) = [step["with"] for step in test["jobs"]["free-threaded"]["steps"][1:2]]
    assert f"cp{threads['python-version'].replace('.', '')}" in built
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"


def test_the_version_has_a_date_in_the_changelog():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == frazil.__version__
    assert all(day for _, day in versions[1:])


def test_the_conda_recipe_agrees_with_the_project():
    recipe = yaml.safe_load((ROOT / "release" / "conda" / "recipe.yaml").read_text("utf-8"))
    assert recipe["context"]["version"] == frazil.__version__
    needed = [each.replace(" ", "") for each in recipe["requirements"]["run"]]
    assert needed == ["python", *PROJECT["project"]["dependencies"]]
    built = {each.replace(" ", "") for each in recipe["requirements"]["host"]}
    assert built == {"python", "pip", *PROJECT["build-system"]["requires"]}
    assert recipe["about"]["license"] == PROJECT["project"]["license"]


def test_the_lock_is_of_the_requirements_and_of_the_public_index():
    """``uv lock`` writes it again. It names the index with which it was made."""
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://([^/\"]+)", text)) == {"files.pythonhosted.org", "pypi.org"}
    own = next(each for each in tomllib.loads(text)["package"] if each["name"] == "frazil")
    locked = {
        (each["name"], SpecifierSet(each.get("specifier", "")), *extra_of(each.get("marker", "")))
        for each in own["metadata"]["requires-dist"]
    }
    asked = {
        (name.name, name.specifier) for name in map(Requirement, PROJECT["project"]["dependencies"])
    }
    for extra, lines in PROJECT["project"]["optional-dependencies"].items():
        asked |= {(name.name, name.specifier, extra) for name in map(Requirement, lines)}
    assert locked == asked


def extra_of(marker):
    return re.findall(r"extra == '([\w-]+)'", marker)


def test_the_source_distribution_has_every_folder():
    """What git has at the top is in MANIFEST.in, or setuptools adds it by itself."""
    lines = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").splitlines()
    named = [pattern for line in lines for pattern in line.split()[1:] if line[:1] not in {"#", ""}]
    itself = {"src", "pyproject.toml", "MANIFEST.in", "LICENSE"}
    made = {"man", "dist", "build", "PKG-INFO", "setup.cfg"}
    here = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    here = {name for name in here if not name.startswith("__")} | {".ci", ".github", ".gitignore"}
    missing = {name for name in here - itself - made if not any(fnmatch(name, p) for p in named)}
    assert missing == set()


def test_an_installed_frazil_lists_its_components():
    """PEP 770: the list is in the folder ``sboms`` of the metadata, from a wheel or not."""
    about = distribution("frazil")
    listed = json.loads(about.read_text("sboms/frazil.cdx.json"))
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    own = listed["metadata"]["component"]
    assert own["purl"] == f"pkg:pypi/frazil@{about.version}"
    assert own["licenses"] == [{"license": {"id": about.metadata["License-Expression"]}}]
    needed = {line.split(";")[0] for line in about.requires if "extra ==" not in line}
    needed = {re.match(r"[\w-]+", line)[0] for line in needed}
    assert {each["name"] for each in listed["components"]} == needed | {"cython"}


def test_man_pages(tmp_path):
    program = [sys.executable, str(ROOT / "release" / "man.py"), str(tmp_path / "man")]
    subprocess.run(program, check=True)
    pages = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "man").iterdir()}
    assert set(pages) == {"frazil.1", *(f"frazil-{name}.1" for name in COMMANDS)}
    assert "\b" not in "".join(pages.values())
    for page in pages.values():
        examples = re.findall(r"^\.nf\n(.*?)^\.fi\n", page, re.MULTILINE | re.DOTALL)
        assert page.count("\n.nf\n") == page.count("\n.fi\n") == len(examples) >= 1
    assert "  frazil mint \\-n 1000000 \\-\\-lead 1s > ids.txt\n" in pages["frazil-mint.1"]
    assert all(COMMANDS[name] in pages[f"frazil-{name}.1"] for name in COMMANDS)
