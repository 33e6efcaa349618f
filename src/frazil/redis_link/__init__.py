"""The link to Redis and Valkey servers, for the registry there and for Icicle."""
