"""Examine a MySQL or MariaDB server for ``frazil doctor``.

All statements are read-only, and any user may run them. A value that the user may not see becomes a
note.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from frazil.claims.claim import Terms
from frazil.registries.doctor import (
    COMMON_EVENTS,
    Finding,
    StoreReport,
    clock_steps,
    old_primary,
    outage,
    restart,
    rollback,
    state_loss,
)

STATUS = "SHOW GLOBAL STATUS LIKE 'Slaves_connected'"
"""How many replicas are connected; in MySQL not every user may read it."""

QUESTION = """SELECT CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED), @@version, @@read_only,
    @@innodb_flush_log_at_trx_commit, @@innodb_doublewrite, @@log_bin, @@sync_binlog,
    (SELECT engine FROM information_schema.tables
     WHERE table_schema = DATABASE() AND table_name = 'frazil_namespace'),
    (SELECT count(*) FROM information_schema.triggers
     WHERE event_object_schema = DATABASE() AND event_object_table = 'frazil_namespace')"""
"""The server's clock, its settings, and the table."""


def examine(
    status: Mapping[str, Any],
    answer: Sequence[Any],
    terms: Terms,
    ahead_us: int,
    *,
    mariadb: bool,
    init: str,
    by_hand: str,
) -> StoreReport:
    """The report that follows from the answers to ``STATUS`` and ``QUESTION`` (without clock).

    init, by_hand: the commands of a user and of an administrator that create the table.
    """
    version, read_only, flush, double, log, sync, engine, triggers = answer
    name = f"{'MariaDB' if mariadb else 'MySQL'} {str(version).partition('-')[0]}"
    replica = str(read_only) not in ("0", "OFF")
    facts = (
        Finding("version", "good", name),
        Finding(
            "role",
            "bad" if replica else "good",
            "read-only" if replica else "primary",
            "a replica cannot write; use the primary" if replica else "",
        ),
        _table(engine, int(triggers), init, by_hand),
        _disk(str(flush), str(double), int(sync) if int(log) else None),
    )
    replicas = int(status["slaves_connected"]) if "slaves_connected" in status else None
    events = (*COMMON_EVENTS, *_events(terms, bool(int(log)), replicas), outage(terms))
    return StoreReport(name, facts, events, ahead_us, has_table=engine is not None)


def _table(engine: str | None, triggers: int, init: str, by_hand: str) -> Finding:
    if engine is None:
        return Finding(
            "table", "bad", "frazil_namespace does not exist, so no ID can be issued",
            f"run: {init}; if the user may not create tables, an administrator runs: {by_hand}",
        )  # fmt: skip
    if engine.lower() != "innodb":
        return Finding(
            "table", "bad", f"engine {engine}", "it has no transactions, so a claim can be given "
            "twice; ALTER TABLE frazil_namespace ENGINE=InnoDB",
        )  # fmt: skip
    if triggers < 2:
        return Finding(
            "table", "note", "InnoDB, no triggers that this user may see",
            "without them, rows restored by hand are noticed only by members that remember more; "
            f"an administrator runs: {by_hand}",
        )  # fmt: skip
    return Finding("table", "good", "InnoDB, with triggers that show restored rows")


def _disk(flush: str, double: str, sync: int | None) -> Finding:
    log = "no binary log" if sync is None else f"sync_binlog {sync}"
    found = f"innodb_flush_log_at_trx_commit {flush}, innodb_doublewrite {double}, {log}"
    if flush != "1":
        return Finding(
            "persistence", "note", found, "a crash may lose the last claims; members notice it "
            "and wait once; counters need innodb_flush_log_at_trx_commit=1",
        )  # fmt: skip
    return Finding("persistence", "good", found, "each claim is on disk before it is used")


def _events(terms: Terms, log: bool, replicas: int | None) -> Iterable[Finding]:  # noqa: FBT001
    yield restart(terms)
    yield state_loss("the table is dropped, or its rows are restored from a dump", terms)
    yield rollback("the data directory, disk or machine is restored to an older state", terms)
    yield state_loss("failover to a replica that missed writes", terms)
    if replicas:
        yield old_primary("fence it: stop it, or set read_only, before a replica is promoted", "")
    elif replicas is None and log:
        yield Finding(
            "an old primary continues beside its successor", "note", "may repeat",
            "if replicas exist: stop it, or set read_only, before one is promoted",
        )  # fmt: skip
    else:
        yield old_primary("", "no replica could replace it")
    yield from clock_steps(terms)
