"""What the commands share that show something to people."""

__all__: list[str] = []
