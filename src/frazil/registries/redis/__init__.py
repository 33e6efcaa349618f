"""A registry in Redis or Valkey: the verbs as a script, the link to a server, its URL."""
