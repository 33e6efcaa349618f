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
    restart,
    rollback,
    state_loss,
)
from frazil.sql.ids import ids_sql

QUESTION = """SELECT split_part(version(), ' ', 2) AS version,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('synchronous_standby_names') AS standbys,
       pg_is_in_recovery() AS standby,
       current_user AS role,
       to_regclass('frazil_namespace') IS NOT NULL AS made,
       (SELECT relnamespace::regnamespace::text FROM pg_class
        WHERE oid = to_regclass('frazil_namespace')) AS place,
       CASE WHEN to_regnamespace('frazil') IS NULL
            THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege('frazil', 'CREATE') END
           OR coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_make,
       (SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database())
           AS owner,
       (SELECT count(*) FROM pg_stat_replication)::int AS connected,
       coalesce((SELECT string_agg(right_, ', ') FROM unnest(ARRAY['SELECT','INSERT','UPDATE'])
                 AS right_ WHERE NOT has_table_privilege(to_regclass('frazil_namespace'), right_)),
                '') AS missing,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now_us"""

IDS_QUESTION = """SELECT n.nspname AS place, coalesce(t.nspname, n.nspname) AS tables,
       p.prosrc AS source, a.prosrc AS after_source, p.proowner::regrole::text AS owner,
       current_user AS role, p.prosecdef AS definer,
       has_schema_privilege(n.oid, 'USAGE')
           AND has_function_privilege(p.oid, 'EXECUTE') AS may_call,
       coalesce(has_table_privilege(to_regclass('frazil_ids'), 'SELECT'), false) AS may_look
FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
LEFT JOIN pg_proc AS a ON a.oid = to_regprocedure('frazil_id(text, bigint, boolean)')
LEFT JOIN pg_class AS c ON c.oid = to_regclass('frazil_ids')
LEFT JOIN pg_namespace AS t ON t.oid = c.relnamespace
WHERE p.oid = to_regprocedure('frazil_id(text)')"""
"""The function ``frazil_id``: one row, or none if it does not exist."""

IDS_ROWS = """SELECT i.name, i.node, n.layout, n.ids_node IS NOT DISTINCT FROM i.node
       AND pg_sequence_last_value(i.lost) IS DISTINCT FROM 1 AS kept
FROM {place}.frazil_ids AS i LEFT JOIN {place}.frazil_namespace AS n ON n.name = i.name
ORDER BY i.name"""
"""The namespaces of ``frazil_id``, for a role that may look. ``{place}`` is the quoted schema."""

_SHOWN = 5  # namespaces that are listed


def examine(
    answer: dict[str, Any], terms: Terms, ahead_us: int, init: str, by_hand: str
) -> StoreReport:
    """The report that follows from the answer to ``QUESTION``, by column.

    init, by_hand: the commands of a member and of an administrator that create the table.
    """
    facts = (
        Finding("version", "good", f"PostgreSQL {answer['version']}"),
        Finding(
            "role",
            "bad" if answer["standby"] else "good",
            "standby" if answer["standby"] else "primary",
            "a standby cannot write; use the primary" if answer["standby"] else "",
        ),
        _rights(answer, init, by_hand),
        _disk(answer),
        _standbys(answer),
    )
    events = (*COMMON_EVENTS, *_events(answer, terms), outage(terms))
    server = f"PostgreSQL {answer['version']}"
    return StoreReport(server, facts, events, ahead_us, has_table=answer["made"])


def examine_ids(
    answer: dict[str, Any] | None, rows: list[dict[str, Any]] | None, install: str
) -> list[Finding]:
    """What the answers to ``IDS_QUESTION`` and ``IDS_ROWS`` say about ``frazil_id``.

    rows: None if the role may not look. install: the command that installs the function.
    """
    if answer is None:
        found = "frazil_id() is not in the search_path"
        return [Finding("in SQL", "good", found, f"{install} makes it")]
    place, owner, role = answer["place"], answer["owner"], answer["role"]
    again = f"run as its owner: {install}"
    texts = ids_sql(answer["tables"], place).split("$frazil$")
    ours = (texts[-4], texts[-2]) == (answer["after_source"], answer["source"])
    which = "of this version" if ours else "of another version of frazil"
    found = f"frazil_id() {which} in schema {place}, owned by {owner}"
    findings = [Finding("in SQL", "good" if ours else "note", found, "" if ours else again)]
    if not answer["definer"]:
        meaning = f"it is not SECURITY DEFINER, so other roles cannot use it; {again}"
        findings.append(Finding("its rights", "bad", "changed", meaning))
    elif answer["may_call"]:
        findings.append(Finding("its rights", "good", f"{role} may call it"))
    else:
        grant = f"GRANT EXECUTE ON FUNCTION {place}.frazil_id(text) TO {role}"
        findings.append(Finding("its rights", "note", f"{role} may not call it", grant))
    if rows is None:
        meaning = f"ask as {owner}, or GRANT SELECT ON {answer['tables']}.frazil_ids TO {role}"
        return [*findings, Finding("its names", "note", f"{role} may not read them", meaning)]
    lost = [row["name"] for row in rows if not row["kept"]]
    if lost:
        meaning = f"it refuses there; {again}"
        where = f"the record of {', '.join(map(repr, lost[:_SHOWN]))} has lost its node number"
        return [*findings, Finding("its names", "bad", where, meaning)]
    shown = [f"{row['name']!r}: node {row['node']} of {row['layout']}" for row in rows[:_SHOWN]]
    more = [f"and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
    return [*findings, Finding("its names", "good", "; ".join([*shown, *more]) or "none")]


def _rights(answer: dict[str, Any], init: str, by_hand: str) -> Finding:
    role, missing = answer["role"], answer["missing"]
    if not answer["made"]:
        found = "frazil_namespace does not exist, so no ID can be issued"
        if answer["may_make"]:
            return Finding("table", "bad", found, f"run: {init}")
        return Finding(
            "table", "bad", found,
            f"{role} may not create it; the owner of the database, {answer['owner']}, runs: "
            f"{by_hand} -c 'GRANT SELECT, INSERT, UPDATE ON frazil.frazil_namespace TO {role}'",
        )  # fmt: skip
    if missing:
        return Finding(
            "rights", "bad", f"{role} lacks {missing} on frazil_namespace",
            f"GRANT {missing} ON {answer['place']}.frazil_namespace TO {role}",
        )  # fmt: skip
    if answer["place"] != "frazil":
        return Finding(
            "rights", "note", f"{role} has all rights; the table is in schema {answer['place']}",
            "migration tools and dumps of that schema see it; once every process runs this "
            f"version: {init} --move",
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
    yield restart(terms)
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
