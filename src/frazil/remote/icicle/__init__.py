"""Icicle: IDs issued by a pool of Redis servers, to callers that hold no state and need no clock.

A **script** inside each server gives out the cells of one node number, its *shard*, in the order of
time. A **server** is one such place, a **pool** several that know nothing of each other and are
asked in turn; a **generator** is what users hold. Two servers never have one shard, and a server
never gives a cell twice: that is why no ID repeats, and neither sentence mentions a caller.
"""

__all__: list[str] = []
