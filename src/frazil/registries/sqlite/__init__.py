"""A registry in an SQLite file of this host."""
