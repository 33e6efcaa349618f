"""The processes of a service: sockets, workers, signals, and an orderly end."""

__all__: list[str] = []
