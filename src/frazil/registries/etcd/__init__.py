"""A registry in etcd: the link to a cluster, and what a member knows of its state."""

__all__: list[str] = []
