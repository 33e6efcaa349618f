"""The Redis endpoint of a service."""
