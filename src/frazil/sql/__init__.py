"""SQL that reads IDs, and that makes them: what ``frazil sql`` prints."""
