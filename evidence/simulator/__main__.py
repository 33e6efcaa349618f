"""``python -m evidence.simulator``: run seeds, show their marks and those that fail."""

import argparse
import sys
import time

from evidence.simulator import Report, Schedule, failure_text, run, shrink

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the seeds of the arguments. Returns 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m evidence.simulator", description=__doc__)
    parser.add_argument("--seed", type=int, help="run one seed and show its schedule")
    parser.add_argument("--seeds", default="0-1999", help="run these, FIRST-LAST (%(default)s)")
    parser.add_argument(
        "--failovers", action="store_true", help="only failovers to a successor that is behind"
    )
    options = parser.parse_args(arguments)
    out = sys.stdout.write
    draw = Schedule.draw_failovers if options.failovers else Schedule.draw
    if options.seed is not None:
        outcome = shrink(draw(options.seed))
        if outcome.violation is not None:
            out(failure_text(outcome) + "\n")
            return 1
        out(f"{outcome.schedule}\n{outcome.ids} IDs, and all invariants hold\n")
        return 0
    first, _, last = options.seeds.partition("-")
    report = Report()
    since_s = time.process_time()
    for seed in range(int(first), int(last or first) + 1):
        outcome = run(draw(seed))
        report.add(outcome)
        if outcome.violation is not None:
            out(failure_text(shrink(outcome.schedule)) + "\n\n")
    out(report.text(time.process_time() - since_s) + "\n")
    missing = [] if options.failovers else report.marks.missing()
    if missing:
        out(f"never reached: {', '.join(missing)}\n")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
