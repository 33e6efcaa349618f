"""YAML with texts for IDs, as ``SERIALIZATION_MODULES`` would name it."""

from django.core.serializers import pyyaml

from frazil.django.serializers import Texts

__all__ = ["Deserializer", "Serializer"]

Deserializer = pyyaml.Deserializer


class Serializer(Texts, pyyaml.Serializer):
    """Django's, with texts for IDs."""
