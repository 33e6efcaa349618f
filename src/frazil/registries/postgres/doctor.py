"""Examine a PostgreSQL server for ``frazil doctor``.

All statements are read-only, and any role may run them.
"""

from collections.abc import Iterable
from typing import Any

from frazil.claims.claim import Terms
from frazil.registries.doctor import (
    COMMON_EVENTS,
    Finding,
    StoreReport,
    clock_steps,
    old_primary,
    outage,
    rollback,
    state_loss,
)

__all__ = ["QUESTION", "examine"]

QUESTION = """SELECT split_part(version(), ' ', 2) AS version,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS standbys,
       pg_is_in_recovery() AS standby,
       current_user AS role,
       to_regclass('frazil_namespace') IS NOT NULL AS made,
       (SELECT count(*) FROM pg_stat_replication)::int AS connected,
       coalesce((SELECT string_agg(right_, ', ') FROM unnest(ARRAY['SELECT','INSERT','UPDATE'])
                 AS right_ WHERE NOT has_table_privilege(to_regclass('frazil_namespace'), right_)),
                '') AS missing,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us"""


def examine(answer: dict[str, Any], terms: Terms, ahead_us: int) -> StoreReport:
    """The report that follows from the answer to ``QUESTION``, by column."""
    facts = (
        Finding("version", "good", f"PostgreSQL {answer['version']}"),
        Finding(
            "role",
            "bad" if answer["standby"] else "good",
            "standby" if answer["standby"] else "primary",
            "a standby cannot write; use the primary" if answer["standby"] else "",
        ),
        _rights(answer),
        _disk(answer),
        _standbys(answer),
    )
    events = (*COMMON_EVENTS, *_events(answer, terms), outage(terms))
    return StoreReport(f"PostgreSQL {answer['version']}", facts, events, ahead_us)


def _rights(answer: dict[str, Any]) -> Finding:
    role, missing = answer["role"], answer["missing"]
    if not answer["made"]:
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


def _disk(answer: dict[str, Any]) -> Finding:
    settings = ("fsync", "full_page_writes", "synchronous_commit")
    found = ", ".join(f"{name} {answer[name]}" for name in settings)
    if answer["fsync"] != "on" or answer["full_page_writes"] != "on":
        both = "a crash of the host can damage the database; turn both on"
        return Finding("persistence", "bad", found, both)
    meaning = "each claim is on disk before it is used"
    if answer["synchronous_commit"] == "off":
        meaning = "frazil's own transactions turn synchronous_commit on"
    return Finding("persistence", "good", found, meaning)


def _standbys(answer: dict[str, Any]) -> Finding:
    names = answer["standbys"]
    found = f"{answer['connected']} connected, synchronous: {names or 'none'}"
    if answer["connected"] and not names:
        return Finding(
            "standbys", "note", found, "a promoted standby may lack claims; members notice it "
            "and wait; set synchronous_standby_names to lose none",
        )  # fmt: skip
    return Finding("standbys", "good", found)


def _events(answer: dict[str, Any], terms: Terms) -> Iterable[Finding]:
    yield Finding("the server restarts", "good", "survived", "acknowledged claims are on disk")
    yield state_loss("the table is dropped, or its rows are restored from a dump", terms)
    yield rollback("the data directory, disk or machine is restored to an older state", terms)
    yield state_loss("failover to a standby that missed writes", terms)
    risk, safety = "", "no standby could replace it"
    if answer["connected"] and answer["standbys"]:
        safety = "it cannot commit without its synchronous standbys"
    elif answer["connected"]:
        risk = "fence it, or set synchronous_standby_names so that it cannot commit alone"
    yield old_primary(risk, safety)
    yield from clock_steps(terms)
