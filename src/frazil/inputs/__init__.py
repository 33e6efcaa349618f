"""What people type: URLs, durations, arguments; read once, and refused in plain words."""

__all__: list[str] = []
