"""``http://`` and ``https://``: IDs of a service (``frazil serve``), for programs in Python.

    wire_ids         IDs as they come over the wire
    config           what ``open`` was told, and the reading of the URL
    reply            what a reply means: IDs, "not now", or a mistake that waiting does not change
    attempts         how long to wait for a reply, when to ask again, when to give up
    calls            a call, whichever way it waits
    generator        what users hold
    async_generator  the same, awaited

Asking again is safe. A service issues an ID once, so a reply that was lost on the way, or that came
to a process which is no longer there, is IDs that nobody has.
"""

__all__: list[str] = []
