"""Without an optional package, the error of its first use names what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("package", "use", "named"),
    [
        ("numpy", "frazil.scheme().parse_many(['07'])", 'pip install ".[numpy]"'),
        ("opentelemetry.metrics", "frazil.metrics.opentelemetry()", "opentelemetry-api"),
        ("prometheus_client", "frazil.metrics.prometheus()", "prometheus-client"),
        ("pydantic", "import frazil.pydantic", 'pip install ".[pydantic]"'),
        ("sqlalchemy", "import frazil.sqlalchemy", 'pip install ".[sqlalchemy]"'),
    ],
)
def test_it_is_named(package, use, named):
    code = f"import frazil, sys; sys.modules[{package!r}] = None; {use}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ConfigError: " in done.stderr
    assert named in done.stderr
