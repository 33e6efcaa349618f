"""A registry in a table of PostgreSQL."""

__all__: list[str] = []
