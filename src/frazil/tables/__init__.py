"""What the engines of tables have in common: a column of new IDs, and where it may be claimed."""

__all__: list[str] = []
