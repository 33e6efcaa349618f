"""A registry in an SQLite file of this host."""

__all__: list[str] = []
