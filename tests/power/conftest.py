"""The recorder, compiled once."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import needs


@pytest.fixture(scope="session")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shared object to load into a process whose work on files is to be recorded."""
    if not sys.platform.startswith("linux"):
        pytest.skip("a power cut: the recorder is written for Linux")
    needs("cc", "a power cut: the recorder is written in C")
    source = Path(__file__).with_name("recorder.c")
    built = tmp_path_factory.mktemp("recorder") / "recorder.so"
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *options, "-o", built, source, "-ldl", "-lpthread"], check=True)
    return built
