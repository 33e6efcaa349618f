"""What the package shows is what it means to show, and importing it stays light."""

import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import typing
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import frazil

MODULES = ["frazil", *(info.name for info in pkgutil.walk_packages(frazil.__path__, "frazil."))]
# The first is there where a compiler was; the second kind runs the command when it is imported.
MODULES = [
    name for name in MODULES if name != "frazil.system._process" and not name.endswith("__main__")
]
# Compiled code keeps its shared types in modules made in memory; there is no package behind them.
MADE_IN_MEMORY = re.compile(r"cython_runtime|_cython_[0-9_]+")
KINDS = FunctionType, property, classmethod, staticmethod
NEW_MODULES = """
import json, sys
before = set(sys.modules)
import frazil
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
"""
FIRST_ID = """
import json, sys
import frazil
frazil.mint(1, sys.argv[1])
print(json.dumps(sorted(sys.modules)))
"""
WITH_SETTINGS = """
from django.conf import settings
settings.configure()
from frazil.django import rest
assert all(hasattr(rest, name) for name in rest.__all__)
"""


@pytest.mark.parametrize("name", ["open", "mint", "init", "history", "declare_past"])
def test_annotations_can_be_read(name: str) -> None:
    """Frameworks that inject dependencies read what a function returns."""
    assert "return" in typing.get_type_hints(getattr(frazil, name))


def test_all_is_what_can_be_seen() -> None:
    """Submodules and what is underscored may be seen or listed, as they come; all else is both."""

    def of_note(names: Iterable[str]) -> set[str]:
        return {
            name
            for name in set(names) - {"TYPE_CHECKING"}
            if not name.startswith("_") and not isinstance(getattr(frazil, name), ModuleType)
        }

    assert of_note(frazil.__all__) == of_note(vars(frazil))
    assert len(set(frazil.__all__)) == len(frazil.__all__)


def test_all_of_a_module_exists() -> None:
    # DRF cannot be imported without settings, which are for ever
    subprocess.run([sys.executable, "-c", WITH_SETTINGS], check=True)
    for module in map(importlib.import_module, sorted({*MODULES} - {"frazil.django.rest"})):
        listed = getattr(module, "__all__", ())
        assert [name for name in listed if not hasattr(module, name)] == [], module


def test_each_public_method_has_words_of_its_own_or_of_its_base() -> None:
    for name in MODULES:
        for kind in () if "django" in name else vars(importlib.import_module(name)).values():
            if inspect.isclass(kind) and kind.__module__ == name and kind.__name__[0] != "_":
                members = KINDS if kind.__name__ in frazil.__all__ else FunctionType
                given = vars(kind).get("__annotations__", {})  # and not defaults of fields
                methods = (
                    each
                    for each, value in vars(kind).items()
                    if isinstance(value, members) and each not in given
                )
                bare = [m for m in methods if m[0] != "_" and not inspect.getdoc(getattr(kind, m))]
                assert bare == [], kind


def new_modules(*options: str) -> set[str]:
    """The top-level modules that ``import frazil`` adds in a new interpreter."""
    answer = subprocess.run(
        [sys.executable, *options, "-c", NEW_MODULES], capture_output=True, text=True, check=True
    )
    return {name for name in json.loads(answer.stdout) if not MADE_IN_MEMORY.fullmatch(name)}


def test_import_loads_nothing_foreign() -> None:
    assert new_modules() - sys.stdlib_module_names == {"frazil"}


def test_import_loads_no_loop_and_no_network() -> None:
    """Heavy parts of the standard library, and those that only what is asked for needs."""
    heavy = {"asyncio", "http", "multiprocessing", "ssl", "unittest"}
    assert new_modules() & {*heavy, "dataclasses", "inspect", "re", "threading"} == set()


def test_the_first_id_loads_no_generator_and_no_openssl(tmp_path: Path) -> None:
    """What nobody needs who calls ``mint`` once, as in a cloud function or a shell loop."""
    url = f"sqlite:{tmp_path}/claims.db?horizon=5ms"
    frazil.mint(1, url)  # a new namespace waits, and the wait needs more
    command = [sys.executable, "-c", FIRST_ID, url]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(json.loads(answer.stdout))
    own = {
        f"frazil.generator.{name}"
        for name in ("complaints", "generator", "keeper", "keeper_policy", "local")
    }
    assert loaded & {*own, "frazil.registries.doctor", "frazil.schemes.shuffle"} == set()
    foreign = {"_hashlib", "asyncio", "logging", "queue", "random", "socket", "uuid"}
    assert loaded & foreign == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        frazil.opne  # noqa: B018
    assert set(frazil.__all__) <= set(dir(frazil))
