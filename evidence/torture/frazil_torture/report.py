"""A run as data: the settings, the faults and the results."""

import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import frazil
from frazil.inputs.masking import masked
from frazil_torture.run import Plan, Result, rounds
from frazil_torture.schedule import MIXED
from frazil_torture.systems import SYSTEMS

__all__ = ["about", "again", "as_json", "duplicates", "failed", "ids"]


def ids(results: Iterable[Result]) -> int:
    """How many IDs were issued."""
    return sum(result.found.ids for result in results)


def duplicates(results: Iterable[Result]) -> int:
    """How many of them were issued before."""
    return sum(result.found.duplicates for result in results)


def failed(results: Iterable[Result]) -> bool:
    """Whether an ID repeated, a reply was not greater than promised, or a process hung."""
    bad = ("repeated", "inverted", "hung")
    return any(result.outcome in bad for result in results)


def again(plan: Plan, result: Result) -> str:
    """The command that repeats a round of a mix."""
    usual = Plan(SYSTEMS["frazil"])
    words = [f"frazil torture {masked(plan.url)}".rstrip()]
    words += [f"--mix --seed {result.seed} --seconds {rounds(plan)[0].seconds:g}"]
    words += [f"--system {plan.system.name}"] if plan.system.name != "frazil" else []
    words += [f"--own {plan.own}"] if plan.own else []
    words += [f"--faults {','.join(plan.faults)}"] if plan.faults != MIXED else []
    words += [f'--scheme "{plan.scheme}"'] if plan.scheme != usual.scheme else []
    words += [f"--processes {plan.processes}"] if plan.processes != usual.processes else []
    words += ["--full-speed"] if plan.burst != usual.burst else []
    return " ".join(words)


def about(plan: Plan) -> dict[str, Any]:
    """The settings, the versions and the date of a run."""
    system = plan.system
    mine = system.name == "frazil"
    return {
        "system": system.name,
        "version": frazil.__version__ if mine else _version(system.package),
        "store": masked(plan.url) or (plan.own and f"{plan.own}, made for the run"),
        "scheme": plan.scheme if mine else "",
        "namespace": plan.namespace if mine else "",
        "seed": plan.seed,
        "seconds": plan.seconds,
        "processes": plan.processes,
        "frazil": f"{frazil.__version__}, {'compiled' if frazil.COMPILED else 'interpreted'}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def _version(package: str) -> str:
    """The version of an installed package, or ""."""
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


def as_json(plan: Plan, results: Sequence[Result]) -> dict[str, Any]:
    """The run as JSON data. IDs are strings; times are seconds since the first fault."""
    begin_ns = results[0].began_ns if results else 0
    return {
        **about(plan),
        "ids": ids(results),
        "duplicates": duplicates(results),
        "faults": [_fault(result, begin_ns) for result in results],
    }


def _fault(result: Result, begin_ns: int) -> dict[str, Any]:
    found = result.found

    def since(moment_ns: int) -> float:
        return round((moment_ns - begin_ns) / 1e9, 4)

    return {
        "fault": result.fault.name,
        "seed": result.seed,
        "what": result.fault.what,
        "outcome": result.outcome,
        "reason": result.reason,
        "ids": found.ids,
        "duplicates": found.duplicates,
        "examples": [
            {"id": str(key), "first": first, "again": again} for key, first, again in found.examples
        ],
        "disorder": found.disorder,
        "answered": found.answered,
        "inverted": found.inverted,
        "refused_calls": found.refused,
        "stalest_s": _seconds(found.stale_us),
        "ahead_s": _seconds(found.ahead_us),
        "stall_s": _seconds(found.stall_us),
        "clock_off_s": [_seconds(off_us) for off_us in found.clock_us],
        "silent": found.silent,
        "hung": found.hung,
        "troubles": found.troubles,
        "began_s": since(result.began_ns),
        "ended_s": since(result.ended_ns),
        "marks": [
            {
                "what": mark.what,
                "whom": mark.whom,
                "began_s": since(mark.began_ns),
                "ended_s": since(mark.ended_ns),
            }
            for mark in result.marks
        ],
    }


def _seconds(us: int | None) -> float | None:
    return None if us is None else us / 1e6
