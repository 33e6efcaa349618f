"""A registry in a table of PostgreSQL."""
