"""Reading IDs of unknown encoding and scheme, and planning layouts: for command and service."""
