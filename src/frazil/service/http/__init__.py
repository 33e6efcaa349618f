"""The HTTP API of a service."""

__all__: list[str] = []
