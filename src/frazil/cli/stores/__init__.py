"""What the commands share that look at stores and pools."""

__all__: list[str] = []
