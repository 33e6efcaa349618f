"""JSON Lines with texts for IDs, as ``SERIALIZATION_MODULES`` would name it."""

from django.core.serializers import jsonl

from frazil.django.serializers import Texts

__all__ = ["Deserializer", "Serializer"]

Deserializer = jsonl.Deserializer


class Serializer(Texts, jsonl.Serializer):
    """Django's, with texts for IDs."""
