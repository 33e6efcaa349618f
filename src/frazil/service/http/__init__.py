"""The HTTP API of a service."""
