"""Reading and writing files of IDs, for ``frazil stamp`` and ``frazil audit``."""
