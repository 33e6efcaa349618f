"""IDs that a server makes: a pool of Redis servers (Icicle), or a service (HTTP)."""
