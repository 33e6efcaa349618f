"""IDs of other systems: UUIDs, ULID, KSUID, xid, ObjectId and TypeID. They are read, not made.

Each module reads one format, and ``recognise`` chooses the format of a text.
"""
