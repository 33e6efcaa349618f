"""Values that people type: URLs, durations, arguments. Each is parsed once and checked."""
