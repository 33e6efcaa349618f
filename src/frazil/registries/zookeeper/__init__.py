"""A registry in a ZooKeeper ensemble: the link to it, and a node for each namespace."""
