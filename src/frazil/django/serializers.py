"""Fixtures: IDs are texts in the JSON and YAML of ``dumpdata`` and ``serialize``.

Django's serializers use the text of a field only if a value is not a plain number, and an ``Id`` is
an ``int``. So they would write the number, which other programs round, and which a key must hide.
Here each object is written as before and then its IDs as texts, also those of related rows. XML has
them already. Reading is Django's: a field accepts a text and a number, so older fixtures load.

Limit: a serializer that ``SERIALIZATION_MODULES`` names stays as it is.
"""

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.core import serializers
from django.core.serializers import json, jsonl

from frazil.django.declared import Id, with_texts


class _Texts:
    """Comes before a serializer of Django."""

    def get_dump_object(self, obj: Any) -> Any:
        """An object as plain values, with the text of each ID."""
        return with_texts(super().get_dump_object(obj))  # type: ignore[misc]


def register() -> None:
    """Make these the serializers of their formats, and let PyYAML write an ``Id`` as its text."""
    formats: dict[str, Any] = {"json": json, "jsonl": jsonl}
    with suppress(ImportError):
        import yaml
        from django.core.serializers import pyyaml

        formats["yaml"] = pyyaml
        for dumper in (yaml.SafeDumper, getattr(yaml, "CSafeDumper", None)):
            if dumper is not None:
                dumper.add_representer(Id, lambda dumper, n: dumper.represent_str(str(n)))
    serializers.get_serializer_formats()  # Django registers its own at the first call
    for name, module in formats.items():
        if name not in getattr(settings, "SERIALIZATION_MODULES", {}):
            kind = type("Serializer", (_Texts, module.Serializer), {})
            serializers._serializers[name] = SimpleNamespace(
                Serializer=kind, Deserializer=module.Deserializer
            )
