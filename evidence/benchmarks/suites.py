"""Test suites of Django and DRF with other primary keys.

Command: ``python -m evidence.benchmarks.suites SUITE``.

The suite, ``django`` or ``rest``, is in the source archive of the installed version, which pip
downloads. It runs three times on SQLite:

    big      with Django's BigAutoField
    large    with BigAutoField, and numbers as large as IDs (``evidence.benchmarks.large_keys``)
    frazil   with frazil.django.FrazilAutoField, and frazil.django installed

Prints a table in Markdown, and what failed with frazil alone with the last line of its error. A
test that expects small numbers, like ``pk=1``, fails with large ones too.

    pip install ".[test]" pytest-django dj-database-url docutils jinja2 pillow sqlparse tblib
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
_KEYS = {
    "big": "django.db.models.BigAutoField",
    "large": "django.db.models.BigAutoField",
    "frazil": "frazil.django.FrazilAutoField",
}
_PLAIN = 'DEFAULT_AUTO_FIELD = "django.db.models.AutoField"'
_FRAZIL = 'FRAZIL = {"url": "memory:", "schemes": {"default": {}}}'
_SQLITE, _LARGE = "django.db.backends.sqlite3", "evidence.benchmarks.large_keys"
_APP = '"frazil.django", '
_LABELS = re.compile(
    "admin_(?!scripts).*|basic|bulk_create|custom_pk|delete.*|fixtures.*|force_insert_update|"
    "generic_(inline_admin|relations.*)|get_(object_or_404|or_create)|inline_formsets|m2m_.*|"
    "many_to_.*|model_(fields|formsets.*|forms.*|inheritance.*)|one_to_one|ordering|"
    "order_with_respect_to|proxy_models|save_delete_hooks|select_related.*|serializers|"
    "update.*|unmanaged_models"
)


class Outcome(dict[str, str]):
    """The last line of the error of each failed test, and how many ran."""

    ran: int


def _archive(package: str, place: Path) -> Path:
    """Download and unpack the source of the installed version."""
    wanted = f"{package}=={version(package)}"
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*pip, "-d", str(place), wanted], check=True)
    [archive] = place.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")
    [source] = (each for each in place.iterdir() if each.is_dir())
    return source


def _replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise SystemExit(f"{path.name} of this version has no {old}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def _run(command: Sequence[str], place: Path) -> str:
    path = os.pathsep.join([str(place), str(ROOT)])
    done = subprocess.run(
        [sys.executable, *command],
        cwd=place,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.stdout.decode(errors="replace")


def _django(source: Path, key: str, labels: Sequence[str]) -> tuple[Outcome, str]:
    tests = source / "tests"
    lines = [f'DEFAULT_AUTO_FIELD = "{_KEYS[key]}"', _FRAZIL]
    _replaced(tests / "test_sqlite.py", _PLAIN, "\n".join(lines))
    if key == "frazil":
        always = "ALWAYS_INSTALLED_APPS = ["
        _replaced(tests / "runtests.py", always, always + _APP)
    if key == "large":
        for _ in range(2):
            _replaced(tests / "test_sqlite.py", _SQLITE, _LARGE)
    if not labels:
        folders = sorted(each.name for each in tests.iterdir() if each.is_dir())
        labels = [name for name in folders if _LABELS.fullmatch(name)]
    output = _run(["runtests.py", "--parallel=1", "--noinput", *labels], tests)
    found = Outcome()
    [ran] = re.findall(r"^Ran (\d+) tests", output, re.MULTILINE)
    found.ran = int(ran)
    for block in re.split(r"^={70}$", output, flags=re.MULTILINE)[1:]:
        head = re.match(r"\s*(?:FAIL|ERROR): \w+ \(([\w.]+)\)", block)
        if head:
            body = block.partition("-" * 70 + "\n")[2].partition("\n\n" + "-" * 70)[0]
            found.setdefault(head[1], _said(body))
    return found, output


def _rest(source: Path, key: str, labels: Sequence[str]) -> tuple[Outcome, str]:
    conftest = source / "tests" / "conftest.py"
    field = f'DEFAULT_AUTO_FIELD="{_KEYS[key]}", {_FRAZIL.replace(" = ", "=")}'
    _replaced(conftest, 'DEFAULT_AUTO_FIELD="django.db.models.AutoField"', field)
    if key == "frazil":
        _replaced(conftest, "INSTALLED_APPS=(", "INSTALLED_APPS=(" + _APP)
    if key == "large":
        for _ in range(2):
            _replaced(conftest, f"'{_SQLITE}'", f"'{_LARGE}'")
    report = source / "report.xml"
    options = ["-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}"]
    output = _run(["-m", "pytest", *options, *(labels or ["tests"])], source)
    found, suite = Outcome(), ET.parse(report).getroot()[0]
    found.ran = int(suite.attrib["tests"]) - int(suite.attrib["skipped"])
    for case in suite.iter("testcase"):
        for wrong in (*case.iter("failure"), *case.iter("error")):
            name = f"{case.attrib['classname'].removeprefix('tests.')}.{case.attrib['name']}"
            found.setdefault(name, wrong.attrib["message"].partition("\n")[0][:160])
    return found, output


def _said(body: str) -> str:
    """The line of a traceback that says what is wrong: the first after the last frame."""
    *_, frames = body.rpartition("  File ")
    lines = (line for line in frames.splitlines()[1:] if not line.startswith("  "))
    return next(lines, "")[:160]


_SUITES = {"django": ("Django", _django), "rest": ("djangorestframework", _rest)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a suite with the three keys. The exit code is 1 if a test fails with frazil alone."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.benchmarks.suites", description=__doc__
    )
    parser.add_argument("suite", choices=_SUITES)
    parser.add_argument("labels", nargs="*", help="of the tests; default: those with models")
    parser.add_argument("--keep", type=Path, help="a folder for the whole outputs")
    given = parser.parse_args(arguments)
    package, run = _SUITES[given.suite]
    found: dict[str, Outcome] = {}
    for key in _KEYS:
        with tempfile.TemporaryDirectory(prefix="frazil-suite-") as place:
            found[key], output = run(_archive(package, Path(place)), key, given.labels)
        if given.keep:
            (given.keep / f"{given.suite}-{key}.txt").write_text(output, encoding="utf-8")
            (given.keep / f"{given.suite}-{key}.json").write_text(json.dumps(found[key], indent=1))
    print("\n".join(_table(package, found)))
    return 1 if _alone(found) else 0


def _alone(found: dict[str, Outcome]) -> dict[str, str]:
    others = found["big"].keys() | found["large"].keys()
    return {test: why for test, why in found["frazil"].items() if test not in others}


def _table(package: str, found: dict[str, Outcome]) -> list[str]:
    versions = ", ".join(f"{name} {version(name)}" for name in dict.fromkeys([package, "Django"]))
    python = ".".join(map(str, sys.version_info[:3]))
    big, large, frazil = (found[key] for key in _KEYS)
    kept = [
        ("tests that ran", *(each.ran for each in found.values())),
        ("failed", len(big), len(large), len(frazil)),
        (
            "of these not with BigAutoField",
            0,
            len(large.keys() - big.keys()),
            len(frazil.keys() - big.keys()),
        ),
        ("of these with no other key", 0, "", len(_alone(found))),
    ]
    rows = [f"| {' | '.join(map(str, row))} |" for row in kept]
    alone = [f"- `{test}`: {why}" for test, why in sorted(_alone(found).items())]
    head = ["| | BigAutoField | large numbers | frazil |", "|---|--:|--:|--:|"]
    return [f"{versions}, CPython {python}, SQLite", "", *head, *rows, "", *alone]


if __name__ == "__main__":
    sys.exit(main())
