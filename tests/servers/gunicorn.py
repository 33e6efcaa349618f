"""A Django project behind gunicorn with two workers."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.needs import needs
from tests.tools.waiting import until

needs("gunicorn", "the workers of a real server")

LISTENING = re.compile(r"Listening at: (http://127\.0\.0\.1:\d+)")


@contextmanager
def gunicorn(
    folder: Path, env: Mapping[str, str], log: Path, application: str, *options: str
) -> Iterator[str]:
    """The URL of the application, which runs in that folder."""
    command = [sys.executable, "-m", "gunicorn", "--workers=2", "--bind=127.0.0.1:0", *options]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, application], cwd=folder, env=env, stdout=output, stderr=output
        )
    try:
        until(lambda: LISTENING.search(log.read_text()), "gunicorn listens")
        yield LISTENING.findall(log.read_text())[0]
    finally:
        process.terminate()
        process.wait(60)
