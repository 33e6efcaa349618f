"""Alembic: autogenerate leaves the tables of frazil's claims alone.

A table that is in the database and not in the application's metadata is one to drop, for Alembic.
A claims table in the application's database is such a table, and without it no process gets an ID.
Alembic 1.18 or newer loads this plugin by itself, wherever frazil is installed. For older versions
pass ``include_name`` to ``context.configure(include_name=…)``.

In PostgreSQL the tables also have a schema of their own, which Alembic does not look at.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alembic.runtime.plugins import Plugin

__all__ = ["include_name", "setup"]

_TABLES = ("frazil_ids", "frazil_namespace")


def include_name(name: str | None, kind: str, _parents: object) -> bool:
    """Whether autogenerate compares what has this name: everything but frazil's tables."""
    return kind != "table" or name not in _TABLES


def setup(plugin: "Plugin") -> None:
    """Register with Alembic, which calls this."""
    from alembic.util import DispatchPriority

    plugin.add_autogenerate_comparator(_keep, "schema", priority=DispatchPriority.LAST)


def _keep(_context: object, upgrade: Any, _schemas: object) -> Any:
    """Take back what was proposed for frazil's tables."""
    from alembic.util import PriorityDispatchResult

    upgrade.ops[:] = [
        step for step in upgrade.ops if include_name(getattr(step, "table_name", None), "table", {})
    ]
    return PriorityDispatchResult.CONTINUE
