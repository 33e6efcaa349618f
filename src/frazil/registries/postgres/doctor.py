"""Examine a PostgreSQL server for ``frazil doctor``.

All statements are read-only, and any role may run them.
"""

from typing import Any

from frazil.claims.claim import Terms
from frazil.registries.doctor import (
    COMMON_EVENTS,
    Finding,
    StoreReport,
    outage,
    rollback,
    state_loss,
)

__all__ = ["QUESTION", "examine"]

QUESTION = """SELECT split_part(version(), ' ', 2) AS version,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS pages,
       current_setting('synchronous_commit') AS synchronous,
       current_setting('synchronous_standby_names') AS standbys,
       pg_is_in_recovery() AS standby,
       current_user AS role,
       to_regclass('frazil_namespace') IS NOT NULL AS made,
       (SELECT count(*) FROM pg_stat_replication)::int AS connected,
       coalesce((SELECT string_agg(right_, ', ') FROM unnest(ARRAY['SELECT','INSERT','UPDATE'])
                 AS right_ WHERE NOT has_table_privilege(to_regclass('frazil_namespace'), right_)),
                '') AS missing,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us"""


def examine(told: dict[str, Any], terms: Terms, ahead_us: int) -> StoreReport:
    """The report that follows from the answer to ``QUESTION``, by column."""
    facts = (
        Finding("version", "good", f"PostgreSQL {told['version']}"),
        Finding(
            "role",
            "bad" if told["standby"] else "good",
            "standby" if told["standby"] else "primary",
            "a standby cannot write; use the primary" if told["standby"] else "",
        ),
        _rights(told),
        _disk(told),
        _standbys(told),
    )
    events = (*COMMON_EVENTS, *_events(told, terms), outage(terms))
    return StoreReport(f"PostgreSQL {told['version']}", facts, events, ahead_us)


def _rights(told: dict[str, Any]) -> Finding:
    role, missing = told["role"], told["missing"]
    if not told["made"]:
        return Finding(
            "table", "note", "frazil_namespace does not exist", "run frazil init URL, or: psql "
            "-f frazil/registries/postgres/table.sql",
        )  # fmt: skip
    if missing:
        return Finding(
            "rights", "bad", f"{role} lacks {missing} on frazil_namespace",
            f"GRANT {missing} ON frazil_namespace TO {role}",
        )  # fmt: skip
    return Finding("rights", "good", f"{role} has all rights that members need")


def _disk(told: dict[str, Any]) -> Finding:
    found = ", ".join(
        f"{name} {told[key]}"
        for name, key in (
            ("fsync", "fsync"), ("full_page_writes", "pages"), ("synchronous_commit", "synchronous")
        )
    )  # fmt: skip
    if told["fsync"] != "on" or told["pages"] != "on":
        return Finding(
            "persistence", "bad", found, "a crash of the host can damage the database; turn both on"
        )
    if told["synchronous"] == "off":
        return Finding(
            "persistence", "good", found, "frazil's own transactions turn synchronous_commit on"
        )
    return Finding("persistence", "good", found, "each claim is on disk before it is used")


def _standbys(told: dict[str, Any]) -> Finding:
    names = told["standbys"]
    found = f"{told['connected']} connected, synchronous: {names or 'none'}"
    if told["connected"] and not names:
        return Finding(
            "standbys", "note", found, "a promoted standby may lack claims; members notice it "
            "and wait; set synchronous_standby_names to lose none",
        )  # fmt: skip
    return Finding("standbys", "good", found)


def _events(told: dict[str, Any], terms: Terms) -> list[Finding]:
    fenced = not told["connected"]
    events = [
        Finding("the server restarts", "good", "survived", "acknowledged claims are on disk"),
        state_loss("the table is dropped, or its rows are restored from a dump", terms),
        rollback("the data directory, disk or machine is restored to an older state", terms),
        state_loss("failover to a standby that missed writes", terms),
        Finding(
            "an old primary continues beside its successor",
            "good" if fenced else "bad" if not told["standbys"] else "good",
            "survived" if fenced or told["standbys"] else "may repeat",
            "no standby could replace it" if fenced
            else "it cannot commit without its synchronous standbys" if told["standbys"]
            else "fence it, or set synchronous_standby_names so that it cannot commit alone",
        ),
    ]  # fmt: skip
    if terms.timed:
        events.append(Finding("the server's clock steps", "good", "survived", "forward and back"))
    return events
