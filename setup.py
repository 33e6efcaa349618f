"""What pyproject.toml cannot say: an installed frazil has a list of its components (an SBOM).

The format is CycloneDX. setuptools copies what is in its folder of metadata to ``.dist-info``, in
a wheel and in an editable install, and PEP 770 gives the list its place there. It has no date and
no random number, so the same source still gives the same bytes.
"""

import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.egg_info import egg_info


class EggInfo(egg_info):
    """The metadata, with ``sboms/frazil.cdx.json``."""

    def run(self) -> None:
        super().run()
        about = self.distribution
        own = _component("frazil", about.get_version(), licence=about.metadata.license_expression)
        used = [_component(re.match(r"[\w-]+", text)[0]) for text in about.install_requires]
        # Parts of it are in what the compiled modules are made from.
        used.append(_component("cython", version("cython"), licence="Apache-2.0"))
        graph = {"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in used]}
        listed = {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": own},
            "components": used,
            "dependencies": [graph, *({"ref": each["bom-ref"]} for each in used)],
        }
        folder = Path(self.egg_info) / "sboms"
        folder.mkdir(exist_ok=True)
        text = json.dumps(listed, indent=2) + "\n"
        (folder / "frazil.cdx.json").write_text(text, encoding="utf-8", newline="\n")


def _component(name: str, number: str = "", licence: str = "") -> dict[str, Any]:
    """A package of PyPI. number: its version, where it is known before the install."""
    purl = f"pkg:pypi/{name}@{number}" if number else f"pkg:pypi/{name}"
    found: dict[str, Any] = {"type": "library", "bom-ref": purl, "name": name, "purl": purl}
    if number:
        found["version"] = number
    if licence:
        found["licenses"] = [{"license": {"id": licence}}]
    return found


setup(cmdclass={"egg_info": EggInfo})
