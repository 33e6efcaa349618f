"""A held signal arrives when it is released."""

import signal

import pytest

from frazil.service.process.workers import SIGNALS, hold_signals, release_signals


@pytest.mark.parametrize("number", SIGNALS)
def test_a_held_signal_arrives_later(number):
    arrived = []
    before = signal.signal(number, lambda *_: arrived.append(number))
    try:
        hold_signals()
        signal.raise_signal(number)  # for this thread, of which others know nothing
        assert arrived == []
        release_signals()
        assert arrived == [number]
    finally:
        release_signals()
        signal.signal(number, before)
