"""Registries: where claims are kept, chosen by URL (see ``frazil.inputs.kinds``)."""

from frazil.registries.base import connect

__all__ = ["connect"]
