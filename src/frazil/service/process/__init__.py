"""The processes of a service: sockets, workers, signals, graceful shutdown."""
