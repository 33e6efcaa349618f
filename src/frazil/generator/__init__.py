"""Generators: what users hold. A walk of claims, and a keeper that gets the next claim in time.

``mint`` is for a process that takes a few IDs and ends.
"""

__all__: list[str] = []
