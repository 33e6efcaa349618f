"""The Redis endpoint of a service."""

__all__: list[str] = []
