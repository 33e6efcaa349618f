"""A registry in etcd: the link to a cluster, and the state of a namespace as a member knows it."""
