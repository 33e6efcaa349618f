"""A registry in a table of MySQL or MariaDB."""

__all__: list[str] = []
