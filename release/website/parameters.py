"""Parameters in docstrings as lists, for the Python reference.

In a docstring a parameter is a paragraph, ``name: its meaning``. A page shows each as an item, with
the name in bold. Only names that the function (or the class) has are taken, so that no other
sentence with a colon becomes one.
"""

import re
from typing import Any

from griffe import Extension, Function

__all__ = ["Parameters", "listed"]

_ITEM = re.compile(r"(?P<name>[a-z_]+): (?P<words>.*)")


class Parameters(Extension):
    """Rewrites the docstring of each function."""

    def on_function(self, *, func: Function, **_more: Any) -> None:
        """Rewrite one docstring."""
        if func.docstring is not None:
            names = {parameter.name for parameter in func.parameters}
            func.docstring.value = listed(func.docstring.value, names)

    def on_class(self, *, cls: Any, **_more: Any) -> None:
        """Rewrite the docstring of a class, whose fields are described there."""
        if cls.docstring is not None:
            cls.docstring.value = listed(cls.docstring.value, set(cls.members))


def listed(text: str, names: set[str]) -> str:
    """The text with each line ``name: …``, and the lines that continue it, as an item."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item and item["name"] in names:
            if not inside and lines and lines[-1]:
                lines.append("")
            lines.append(f"- **{item['name']}**: {item['words']}")
            inside = True
        elif inside and line.strip():
            lines.append(f"    {line}")
        else:
            inside = False
            lines.append(line)
    return "\n".join(lines)
