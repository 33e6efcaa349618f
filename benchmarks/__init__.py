"""frazil beside its peers: how many nanoseconds an ID costs, as ratios measured in one run.

``python -m benchmarks`` runs everything and writes ``BENCHMARKS.md``; ``--quick`` takes a minute
and only prints. Needs ``pip install ".[bench]"``; a peer that is missing is listed as missing.

**Why ratios.** A nanosecond is a property of the machine, of its heat and of its neighbours; "62 ns
per ID" can be neither repeated nor compared. So every number that is claimed is a quotient of two
subjects of the same case, measured one right after the other: a case runs in rounds, each round
runs every subject once in an order shuffled by a printed seed, and what is quoted is the median of
the rounds' quotients, with the least and the greatest. A neighbour who steals the machine for a
second spoils a round, not a side.

**Why processes.** Each subject lives in a process of its own: no package can warm, slow down or
fragment the memory of another. In a round only one subject works.

**Why floors.** ``object()``, ``list(range(n, m))`` and ``numpy.arange`` do nothing but make what an
ID generator must return. Beside them one sees how much of a price is the generator's.

**Fast and wrong is not fast.** Every ID that frazil makes in a run, in any case, thread or process,
is kept until the end. If any repeats in its namespace, the run fails and writes no table.

    subjects   what can be measured: floors, peers, frazil in several set-ups
    cases      what is measured: which subjects side by side, and the aims
    worker     one subject's process: runs batches, times them, keeps the IDs
    kept       the kept IDs, and the question whether one repeats
    runner     the rounds
    report     the table
"""

__all__: list[str] = []
