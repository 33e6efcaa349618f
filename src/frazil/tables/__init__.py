"""Code for all engines of tables: a column of new IDs, and the stores that it may use."""
