"""The error for a package that cannot be imported."""

from frazil.system.extras import missing_extra

STEP = 'arrays need numpy; frazil is not on PyPI yet; in a checkout, run: pip install ".[numpy]"'


def test_a_package_that_is_installed_and_cannot_be_loaded():
    """As numpy, whose first import an exception of a signal handler has ended."""
    said = "cannot load module more than once per process"
    error = missing_extra("arrays need numpy", "numpy", ImportError(said))
    assert str(error) == f"{STEP}; if it is installed, start the program again ({said})"
