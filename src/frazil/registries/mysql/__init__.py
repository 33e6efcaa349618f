"""A registry in a table of MySQL or MariaDB."""
