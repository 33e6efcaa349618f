"""Logs: one JSON object per line, or on a terminal one readable line, without secrets.

Each line has ``time``, ``level``, ``event`` and the facts of the event. A line never contains what
a caller sent: no token, query or body. It can contain URLs of registries, also inside the messages
of other errors; their user names and passwords are masked.

While a registry is unavailable, many calls fail each second for the same reason, and a client may
send a thousand malformed requests a second. So the same error of a namespace, and the same event of
a library, is logged at most once in ten seconds, with the number of events skipped.

Programs collect logs from pipes and files, and people read them on a terminal, so the form follows
from where standard error goes.
"""

import json
import logging
import sys
from typing import Any

from frazil.errors import FrazilError
from frazil.inputs.masking import masked
from frazil.system.clock import boot_ns, moment_text, wall_us

LOGGER = logging.getLogger("frazil.service")
_REPEAT_NS = 10_000_000_000
_KEYS_MOST = 1_000  # a message may contain what a client sent
_last_logged: dict[tuple[str, ...], tuple[int, int]] = {}


class Lines(logging.Formatter):
    """Format a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": moment_text(wall_us()),
            "level": record.levelname.lower(),
            "event": masked(record.getMessage()),
            "logger": record.name,
            **_facts(record),
        }
        if record.exc_info:
            line["trace"] = masked(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class ReadableLines(logging.Formatter):
    """Format a log record for people: the time (UTC), the event, its facts; a trace below."""

    def format(self, record: logging.LogRecord) -> str:
        level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
        facts = [f"{name}={_short(fact)}" for name, fact in _facts(record).items()]
        words = [moment_text(wall_us())[11:19], level + masked(record.getMessage()), *facts]
        trace = f"\n{masked(self.formatException(record.exc_info))}" if record.exc_info else ""
        return "  ".join(words) + trace


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    found: dict[str, Any] = getattr(record, "facts", {}) or {
        name.removeprefix("frazil_"): fact
        for name, fact in vars(record).items()
        if name.startswith("frazil_") and name != "frazil_event"
    }
    return {name: masked(fact) if isinstance(fact, str) else fact for name, fact in found.items()}


def _short(fact: Any) -> str:
    if isinstance(fact, dict):
        return ",".join(f"{name}:{_short(value)}" for name, value in fact.items())
    text = masked(fact) if isinstance(fact, str) else json.dumps(fact, default=str)
    return text if text.isprintable() and " " not in text and text else json.dumps(text)


def on_terminal() -> bool:
    """Whether the log goes to a terminal."""
    return sys.stderr.isatty()


def set_up() -> None:
    """Write the service's log, and the warnings of all libraries, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ReadableLines() if on_terminal() else Lines())
    handler.addFilter(_is_new)
    logging.captureWarnings(capture=True)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("frazil").setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _is_new(record: logging.LogRecord) -> bool:
    """Return whether a record of a library was not written a moment ago."""
    if record.name.startswith("frazil"):
        return True
    skipped = _skipped(record.name, str(record.msg))
    if skipped:
        record.facts = {"skipped": skipped}
    return skipped is not None


def _skipped(*key: str) -> int | None:
    """Return how often an event was skipped since it was logged; None: skip it again."""
    since_ns, skipped = _last_logged.get(key, (None, 0))
    if since_ns is not None and boot_ns() - since_ns < _REPEAT_NS:
        _last_logged[key] = since_ns, skipped + 1
        return None
    if len(_last_logged) >= _KEYS_MOST:
        _last_logged.clear()
    _last_logged[key] = boot_ns(), 0
    return skipped


def event(what: str, **facts: Any) -> None:
    """Log a normal event."""
    LOGGER.info(what, extra={"facts": facts})


def failure(namespace: str, error: FrazilError, what: str = "no id") -> None:
    """Log that a namespace could not issue an ID. what: the event."""
    kind = type(error).__name__
    rarely(what, (namespace, kind), namespace=namespace, error=kind, why=masked(error))


def rarely(what: str, of: tuple[str, ...] = (), **facts: Any) -> None:
    """Log a warning, unless it was logged a moment ago. of: what else tells two of them apart."""
    skipped = _skipped(what, *of)
    if skipped is not None:
        LOGGER.warning(what, extra={"facts": {**facts, "skipped": skipped}})


def bug(error: BaseException) -> None:
    """Log an unexpected error, with its traceback."""
    if _skipped("bug", type(error).__name__) is None:
        return
    trace = (type(error), error, error.__traceback__)
    LOGGER.error("a bug in frazil; please report it", exc_info=trace)
