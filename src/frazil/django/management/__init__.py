"""Django looks for commands in this package."""

__all__: list[str] = []
