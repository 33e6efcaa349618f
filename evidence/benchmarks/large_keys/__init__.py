"""SQLite for Django, whose tables begin to number their rows at a large number."""
