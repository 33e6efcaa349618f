"""The link to Redis and Valkey servers, for the registry there and for Icicle."""

__all__: list[str] = []
