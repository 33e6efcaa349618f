"""The Redis door of a service."""

__all__: list[str] = []
