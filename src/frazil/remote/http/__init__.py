"""``http://`` and ``https://``: IDs of a service (``frazil serve``), for programs in Python.

    wire_ids         the packed form of IDs
    config           the URL and the options of ``open``
    reply            the meaning of a reply: IDs, "try later", or an error
    attempts         time limits and retries
    calls            a call, without I/O
    generator        the generator for threads
    async_generator  the generator for asyncio

A retry is safe. A service issues each ID once, so the IDs of a lost reply are skipped.
"""
