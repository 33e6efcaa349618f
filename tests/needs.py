"""What a test needs from outside Python's standard library: present, or said to be missing.

A test that quietly skips is a test that may never run. Away from CI a missing tool skips the test
and the reason names the tool; with ``CI=true`` it is a failure. So does a missing package, by which
a test or its module ended: not every package can be had for every Python.
"""

import importlib.util
import os
import re
import shutil
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

# What Python says, and frazil with it. On a narrow terminal it is on two lines; bytes have the \\.
ABSENT = re.compile(r"No\s+module\s+named\s+\\?'(\w+)")


def needs(name: str, why: str) -> None:
    """Skip, or in CI fail, unless ``name`` is a command on PATH or a module that can be imported.

    ``why`` says what cannot be tested without it: ``needs("gunicorn", "forks of a real server")``.
    Works inside a test and at the top of a module.
    """
    beside_python = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside_python, os.environ.get("PATH", os.defpath)])
    if shutil.which(name, path=path) or importlib.util.find_spec(name):
        return
    reason = f"{why}: needs {name!r}, which is neither a command nor a module here"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


def lacks(told: object) -> str | None:
    """The reason to skip what ended with this error or text: the package it names, if not here.

    Else, and always in CI, None. A package that a test hides is here all the same.
    """
    for package in ABSENT.findall(str(told)) if os.environ.get("CI") != "true" else ():
        if PathFinder.find_spec(package) is None:
            return f"needs the package {package!r}, which is not installed here"
    return None
