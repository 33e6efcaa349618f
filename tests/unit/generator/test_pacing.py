"""When a registry is asked again."""

import random

from frazil.claims.claim import LastSeen, Terms, Wait
from frazil.generator.pacing import pause_us
from frazil.generator.verb_requests import ask_of
from frazil.system.chance import jitter, shuffled


def test_members_that_wait_for_one_tick_retry_at_different_moments():
    wait = Wait(700_000, LastSeen())
    slow = Terms("d41d8cd9", "", range(1), 1, 1 << 40, 1_000_000, 0, 5)
    assert pause_us(wait, slow, 1.0) == 700_000
    assert pause_us(wait, slow, 0.5) == 1_200_000
    assert {0.5 <= jitter() < 1.0 for _ in range(1000)} == {True}
    assert len({pause_us(wait, slow, jitter()) for _ in range(1000)}) > 100


def test_a_program_that_seeds_random_gets_its_own_numbers():
    random.seed(7)
    [jitter(), shuffled(range(9))]
    assert random.random() == 0.32383276483316237


def test_a_token_is_too_long_to_guess_and_short_enough_to_keep():
    tokens = {ask_of(LastSeen()).token for _ in range(100)}
    assert len(tokens) == 100
    assert {len(token) for token in tokens} == {16}
