"""Logs: one JSON object a line, without secrets.

Lines are read by machines first. Each has ``time``, ``level``, ``event`` and what belongs to it.
What a caller sent is never in them: not a token, not a query, not a body. URLs of registries
are, without user and password, also where they stand inside another error's words.

A namespace whose registry is away fails many calls a second; the first tells all of it, so the same
failure of a namespace is written once in ten seconds, with how many there were.
"""

import json
import logging
import sys
from typing import Any

from frazil.errors import FrazilError
from frazil.inputs.masking import masked
from frazil.system.clock import boot_ns, moment_text, wall_us

__all__ = ["LOGGER", "Lines", "bug", "event", "failure", "set_up"]

LOGGER = logging.getLogger("frazil.service")

_AGAIN_NS = 10_000_000_000
_LEVELS = {"uvicorn.error": logging.WARNING, "uvicorn.asgi": logging.WARNING}

_told: dict[tuple[str, str], tuple[int, int]] = {}


class Lines(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        line: dict[str, Any] = {
            "time": moment_text(wall_us()),
            "level": record.levelname.lower(),
            "event": masked(record.getMessage()),
            "logger": record.name,
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["trace"] = masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up() -> None:
    """Write the service's lines, and the server's warnings, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, level in {"frazil.service": logging.INFO, **_LEVELS}.items():
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


def event(what: str, **facts: Any) -> None:
    """Something that happened, as it should."""
    LOGGER.info(what, extra={"facts": facts})


def failure(namespace: str, error: FrazilError) -> None:
    """An ID that could not be given, for a reason behind the door."""
    key = namespace, type(error).__name__
    since_ns, skipped = _told.get(key, (None, 0))
    if since_ns is not None and boot_ns() - since_ns < _AGAIN_NS:
        _told[key] = since_ns, skipped + 1
        return
    _told[key] = boot_ns(), 0
    facts = {"namespace": namespace, "error": key[1], "why": masked(error), "skipped": skipped}
    LOGGER.warning("no id", extra={"facts": facts})


def bug(error: BaseException) -> None:
    """An error that nobody expected, with its trace."""
    trace = (type(error), error, error.__traceback__)
    LOGGER.error("a bug in frazil; please report it", exc_info=trace)
