"""What the commands share that read and write files of IDs."""

__all__: list[str] = []
