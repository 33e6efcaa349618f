"""Examine a ZooKeeper ensemble for ``frazil doctor``."""

import re

from frazil.claims.claim import Terms
from frazil.registries.doctor import (
    COMMON_EVENTS,
    Finding,
    StoreReport,
    clock_steps,
    outage,
    rollback,
    state_loss,
)


def examine(
    told: str,
    open_to_all: bool,  # noqa: FBT001 - one of the facts
    epoch: int,
    terms: Terms,
    ahead_us: int,
) -> StoreReport:
    """The report from the answer to ``srvr`` ("" if it is not allowed), rights and epoch."""
    found = re.search(r"version: ([\d.]+)", told)
    version = f"ZooKeeper {found[1] if found else '(version not shown)'}"
    mode = re.search(r"Mode: (\w+)", told)
    alone = epoch == 0 or (mode is not None and mode[1] == "standalone")
    facts = (
        Finding("version", "good", version),
        Finding(
            "ensemble",
            "note" if alone else "good",
            "one server" if alone else f"connected to a {mode[1] if mode else 'member'}",
            "if it fails, no claims can be made; three survive the failure of one" if alone else "",
        ),
        Finding(
            "rights",
            "note" if open_to_all else "good",
            "anyone may write the records" if open_to_all else "only the user of the URL writes",
            "name a user: zookeeper://user:password@host" if open_to_all else "",
        ),
        Finding("persistence", "good", "each claim is on a majority's disks before it is used"),
    )
    restored = "the ensemble is restored from a copy"
    events = (
        *COMMON_EVENTS,
        Finding("servers restart, or a minority is cut off", "good", "survived"),
        state_loss("the node is deleted or restored", terms),
        state_loss(restored, terms) if terms.timed else rollback(restored, terms),
        Finding("an old leader continues beside its successor", "good", "survived", "the ensemble "
                "prevents it"),
        outage(terms),
        *clock_steps(terms),
    )  # fmt: skip
    return StoreReport(version, facts, events, ahead_us)
