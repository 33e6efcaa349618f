"""frazil beside its peers: how many nanoseconds an ID costs, as ratios measured in one run.

``python -m evidence.benchmarks`` runs everything and writes ``BENCHMARKS.md``; ``--quick`` takes a
minute and only prints. Needs ``pip install ".[bench]"``; a peer that is missing is listed as
missing.

**Why ratios.** A nanosecond depends on the machine, its temperature and its other tenants; "62 ns
per ID" can be neither repeated nor compared. So each claimed number is a quotient of two subjects
of the same case, measured one right after the other. A case runs in rounds. Each round runs every
subject once, in an order shuffled by a printed seed, and the table shows the median of the rounds'
quotients, with the least and the greatest. Another tenant that takes the machine for a second
spoils a round, not one of the two sides.

**Why processes.** Each subject has its own process: no package can warm, slow down or fragment the
memory of another. In a round only one subject works.

**Why floors.** ``object()``, ``list(range(n, m))`` and ``numpy.arange`` only create what an ID
generator must return. They show how much of a price is the generator's.

**Wrong results do not count.** Every ID that frazil makes in a run, in any case, thread or process,
is kept until the end. If one repeats in its namespace, the run fails and writes no table.

    subjects   what can be measured: floors, peers, frazil in several set-ups
    cases      what is measured: which subjects are compared, and the aims
    worker     one subject's process: runs batches, times them, keeps the IDs
    kept       the kept IDs, and the search for repeats
    runner     the rounds
    report     the table
"""
