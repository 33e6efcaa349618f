"""A process under torture: create a generator, and issue IDs until the job ends.

    python -m frazil_torture.worker JOB

The parent process does the external faults (kills, stops, clocks, the store). The faults of memory
are here: forks, threads, copies, pickles, and interruptions (see ``interrupted``), at seeded random
moments. An error or an early end is not a failure of uniqueness; only duplicate IDs are.
"""

import copy
import multiprocessing
import pickle
import random
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from frazil_torture import interrupted, messages
from frazil_torture.clock import loaded, watch
from frazil_torture.id_log import DIED, HUNG
from frazil_torture.job import Job
from frazil_torture.life import SLICE_S, Children, Life, deadline_ns, fork_c
from frazil_torture.systems import known

__all__ = ["main"]

_PATIENCE_S = 7.0  # with children of multiprocessing whose time is over


def steady(job: Job) -> None:
    """Issue."""
    Life.begin(job).issue()


def fork(job: Job) -> None:
    """Issue, fork, and continue in the parent and in all children, which fork too."""
    life = Life.begin(job).warm_up()

    def childhood(name: str, depth: int) -> None:
        mine = life.other(name)
        children = Children(mine)
        if depth:
            mine.issue(deadline_ns(SLICE_S))
            children.add(lambda: childhood(f"{name}.0", depth - 1))
        mine.issue()
        children.reap()

    children = Children(life)
    for number in range(job.several):
        children.add(partial(childhood, f"{job.name}.{number}", int(number == 0)))
    life.issue()
    children.reap()


def c_fork(job: Job) -> None:
    """The same as ``fork_burst``, with forks made in C."""
    fork_burst(job, fork_c)


def fork_burst(job: Job, fork: Callable[[], int] | None = None) -> None:
    """Fork during bursts, while another thread uses the same generator."""
    rng = random.Random(job.seed)  # noqa: S311 - moments, no secrets
    life = Life.begin(job).warm_up()
    thread = threading.Thread(target=life.other(f"{job.name}-thread").issue)
    thread.start()
    children = Children(life)

    def childhood(name: str, end_ns: int) -> None:
        life.other(name).until_first(end_ns)

    number = 0
    while not job.over:
        given = life.take(before := rng.randrange(1, job.burst))
        end_ns = deadline_ns(SLICE_S)
        children.add(partial(childhood, f"{job.name}.{number}", end_ns), end_ns, fork)
        life.burst(job.burst - before, given)
        while len(children) and not job.over:
            life.burst(job.burst)
            children.look()
        number += 1
    thread.join()
    children.reap()


def by_multiprocessing(job: Job) -> None:
    """Pass the generator to children of multiprocessing, which forks."""
    life = Life.begin(job).warm_up()
    context = multiprocessing.get_context("fork")

    def childhood(number: int) -> None:
        life.other(f"{job.name}.{number}").issue()

    children = [context.Process(target=childhood, args=(n,)) for n in range(job.several)]
    for child in children:
        child.start()
    life.issue()
    for child in children:
        child.join(_PATIENCE_S)
        if child.is_alive():
            child.kill()
            child.join()
            life.id_log.note(f"{HUNG} a child, which was killed")
        elif child.exitcode:
            life.id_log.note(f"a child {DIED}, with {child.exitcode}")


def threads(job: Job) -> None:
    """Several threads with one generator, which switch as often as Python permits."""
    life = Life.begin(job)
    sys.setswitchinterval(1e-6)
    lives = [life, *(life.other(f"{job.name}-{number}") for number in range(job.several))]
    threads = [threading.Thread(target=one.issue) for one in lives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def copies(job: Job) -> None:
    """Copy the generator, shallow and deep; original and copies issue alternately."""
    life = Life.begin(job).warm_up()
    lives = [life]
    refused = []
    for make in (copy.copy, copy.deepcopy):
        try:
            lives.append(Life(job, make(life.holder), f"{job.name}-{make.__name__}"))
        except Exception as error:  # noqa: BLE001 - whatever a foreign generator raises
            refused.append(f"{make.__name__}: {error}")
    if len(refused) == 2:
        _refuse(job, "; ".join(refused))
    while not job.over:
        for one in lives:
            one.burst(8)


def pickled(job: Job) -> None:
    """Pickle the generator while it is in use, for another process, and continue."""
    life = Life.begin(job).warm_up()
    try:
        text = pickle.dumps(life.holder)
    except Exception as error:  # noqa: BLE001 - whatever a foreign generator raises
        _refuse(job, str(error))
    else:
        half = Path(job.path).with_suffix(".half")
        half.write_bytes(text)
        half.rename(job.path)
    life.issue()


def unpickled(job: Job) -> None:
    """Continue with a generator that another process pickled."""
    holder = pickle.loads(Path(job.path).read_bytes())  # noqa: S301 - a worker wrote it
    Life(job, holder, job.name).issue()


def witness(job: Job) -> None:
    """Record the wall clock; issue nothing."""
    watch(job.folder / f"{job.name}.clock", lambda: job.over)


def _refuse(job: Job, reason: str) -> None:
    """Record that the generator refused the fault."""
    (job.folder / f"{job.name}.refused").write_text(reason, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Do the job."""
    job = Job.parse(arguments[0])
    known(job.system)  # import it now, which takes time
    if job.waits:
        (job.folder / f"{job.name}.ready").touch()
        while not (job.folder / job.waits).exists() and not job.over:
            time.sleep(0.0005)
    if job.faked and not loaded():
        raise SystemExit("libfaketime is not in this process")
    # A role is a function here, in ``messages`` or in ``interrupted``.
    places = (globals(), vars(messages), vars(interrupted))
    role: Callable[[Job], None] = next(place[job.role] for place in places if job.role in place)
    role(job)


if __name__ == "__main__":
    main(sys.argv[1:])
