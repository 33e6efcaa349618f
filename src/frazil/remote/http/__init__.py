"""``http://`` and ``https://``: IDs of a service (``frazil serve``), for programs in Python.

A retry is safe. A service issues each ID once, so the IDs of a lost reply are skipped.
"""
