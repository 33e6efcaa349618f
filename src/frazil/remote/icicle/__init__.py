"""Icicle: IDs issued by a pool of Redis servers, to callers without state and without a clock.

A **script** inside each **server** issues the cells of one node number, its *shard*, in the order
of time. A **pool** is a set of servers, which do not know each other and get requests in turn. No
two servers have the same shard, and a server never issues a cell twice. So no ID repeats, whatever
the callers do.
"""
