"""JSON with texts for IDs, as ``SERIALIZATION_MODULES`` would name it."""

from django.core.serializers import json

from frazil.django.serializers import Texts

__all__ = ["Deserializer", "Serializer"]

Deserializer = json.Deserializer


class Serializer(Texts, json.Serializer):
    """Django's, with texts for IDs."""
