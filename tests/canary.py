"""Tests of the tests: frazil is broken on purpose, and the repeat that follows has to be seen.

Most such repeats need a certain moment, which a busy machine may miss. So a canary that sees none
is run again, a few times, with fixtures of its own; a test of frazil itself never is
(docs/decisions/0012). Only if no run sees a repeat, the test that it belongs to is blind.
"""

import pytest

canary = pytest.mark.flaky(reruns=5, only_rerun=[r"^AssertionError", r"^assert ", r"^Failed: "])
