"""The report of a run of many seeds, as text."""

from dataclasses import dataclass, field

from evidence.simulator.marks import MARKS, Marks
from evidence.simulator.world import Outcome

__all__ = ["Report", "failure_text"]


@dataclass(slots=True)
class Report:
    """The totals of the seeds."""

    seeds: int = 0
    ids: int = 0
    faults: int = 0
    node_us: int = 0
    outside: int = 0
    failed: list[int] = field(default_factory=list)
    marks: Marks = field(default_factory=Marks)

    def add(self, outcome: Outcome) -> None:
        """Count one seed."""
        self.seeds += 1
        self.ids += outcome.ids
        self.faults += len(outcome.schedule.faults)
        self.node_us += outcome.node_us
        self.marks.add(outcome.marks)
        self.outside += outcome.outside
        if outcome.violation is not None:
            self.failed.append(outcome.schedule.seed)

    def text(self, took_s: float) -> str:
        """The totals, the speed, and how often each mark was reached."""
        hours = self.node_us / 3.6e9
        width = max(map(len, MARKS))
        speed = f"{self.seeds / took_s:.1f} seeds a second, {60 * hours / took_s:.0f} node-hours"
        lines = [
            f"{self.seeds} seeds, {self.faults} faults, {self.ids} IDs, {len(self.failed)} failed",
            f"{self.outside} ended outside the promise",
            f"{hours:.0f} simulated node-hours in {took_s:.1f} s of this core: {speed} a minute",
            *(f"{mark:{width}}  {self.marks.counts[mark]:9}  {MARKS[mark]}" for mark in MARKS),
        ]
        return "\n".join(lines)


def failure_text(outcome: Outcome) -> str:
    """A failing schedule, its violation, and the command that repeats it."""
    return (
        f"{outcome.schedule}\n"
        f"{outcome.at_us / 1e6:12.3f} s  {outcome.violation}\n"
        f"Again: python -m evidence.simulator --seed {outcome.schedule.seed}"
    )
