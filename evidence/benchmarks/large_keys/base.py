"""``ENGINE = "evidence.benchmarks.large_keys"``.

``evidence.benchmarks.suites`` runs test suites with it, to tell what any large key does to a test
from what frazil does. Nothing but the first number of each table differs from Django's own backend.
"""

from typing import Any

from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3.schema import DatabaseSchemaEditor
from django.db.models import AutoField

__all__ = ["DatabaseWrapper"]

_FIRST = 1_425_280_399_931_604_992


class _Editor(DatabaseSchemaEditor):
    def create_model(self, model: Any) -> None:
        super().create_model(model)
        options = model._meta  # noqa: SLF001 - Django's name for what is public
        if isinstance(options.pk, AutoField):
            row = f"VALUES ({self.quote_value(options.db_table)}, {_FIRST})"
            self.execute(f"INSERT INTO sqlite_sequence (name, seq) {row}")


class DatabaseWrapper(base.DatabaseWrapper):
    """See Django's."""

    SchemaEditorClass = _Editor
