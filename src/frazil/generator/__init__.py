"""Generators, which users hold: a walk of claims, and a keeper that gets the next claim in time.

``mint`` is for a process that needs a few IDs and ends.
"""
