"""Python code in an interpreter of its own."""

import os
import subprocess
import sys


def run_python(code: str, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """Run it, with arguments and environment variables. It must end well, or its errors show."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env=os.environ | environ,
    )
    assert done.returncode == 0, done.stderr
    return done
