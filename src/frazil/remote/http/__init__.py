"""``http://`` and ``https://``: IDs of a service (``frazil serve``), for programs in Python.

    packed     IDs as they come over the wire
    config     what ``open`` was told, and the reading of the URL
    reply      what a reply means: IDs, "not now", or a mistake that waiting does not change
    turn       one call: how long to wait for a reply, when to ask again, when to give up
    generator  what users hold
    aio        the same, awaited

Asking again is safe. A service issues an ID once, so a reply that was lost on the way, or that came
to a process which is no longer there, is IDs that nobody has.
"""

__all__: list[str] = []
