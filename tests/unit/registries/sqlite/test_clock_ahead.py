"""A file that a wrong clock moved years ahead: who says so, and when."""

import pytest

import frazil
from frazil.errors import ClockError
from frazil.system import clock
from tests.unit.generator.test_journal import records

__all__ = ["records"]

YEARS_US = 10 * 365 * 86_400_000_000


@pytest.fixture(params=["sqlite:{}/claims.db", "static:7?state={}/seven.db"])
def url(request, tmp_path):
    url = request.param.format(tmp_path)
    frazil.init(url, new=True)
    return url


@pytest.fixture
def shifted(monkeypatch):
    """Sets this process's wall clock ahead."""
    right = clock.wall_us

    def shift(us):
        monkeypatch.setattr(clock, "wall_us", lambda: right() + us)

    return shift


def test_a_process_whose_clock_is_years_ahead_says_so(records, url, shifted):
    frazil.mint(1, url)
    assert not records.of("clock ahead")
    shifted(YEARS_US)
    with frazil.open(url, keep=0) as ids:
        ids()
    (told,) = records.of("clock ahead")
    assert told.levelname == "WARNING"
    text = told.getMessage()
    assert "this host's clock stepped forward by 3,650.0 days, and so do timestamps" in text
    assert ClockError.page in text
    assert told.frazil_ahead_s == pytest.approx(YEARS_US / 1e6, abs=60)
