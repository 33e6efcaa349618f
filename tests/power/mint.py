"""A process that mints on a file until its disk is gone; started by ``test_real_cut``.

Its order, as JSON in the first argument: ``url``, ``boot`` (the name of the boot that the host is
in), ``out`` (where the IDs go, as 64-bit words), ``name`` and ``broken``.
"""

import json
import os
import sys
from array import array
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import frazil
from tests.power import breakage

TIMED = "sign:1=0 time:41 node:1 sequence:8 @1ms since 2025-01-01T00:00:00Z"
COUNTED = "sequence:63"


def main():
    order = SimpleNamespace(**json.loads(sys.argv[1]))
    breakage.apply(order.broken)
    breakage.boot(order.boot)
    timed = frazil.open(order.url, TIMED, lead="1s", timeout="30s")
    counted = frazil.open(order.url, COUNTED, namespace="count", block=50, timeout="30s")
    timed_ids, numbers = id_log(order, "timed"), id_log(order, "counted")
    try:
        while True:
            os.write(timed_ids, array("Q", timed.take(2000)))
            os.write(numbers, array("Q", counted.take(50)))
    except (frazil.FrazilError, OSError) as error:
        print(f"{type(error).__name__}: {error}", flush=True)  # noqa: T201
    os._exit(0)  # nothing can be given back on a disk that is gone


def id_log(order, kind):
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.open(f"{order.out}/{kind}-{order.name}.u64", flags)


if __name__ == "__main__":
    main()
