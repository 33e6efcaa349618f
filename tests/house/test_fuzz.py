"""The fuzzers: each check finds a wrong parser, and the command reports what it found."""

from datetime import datetime

import pytest

from evidence.fuzz import __main__ as command
from evidence.fuzz.targets import TARGETS
from frazil.claims.holder import Holder
from frazil.cli.files.stamping import joined
from frazil.inputs.duration import exact_us
from frazil.inputs.url import parse_url
from frazil.layout.text import parse_layout
from frazil.schemes.scheme import _preset
from frazil.service.redis.parser import Parser
from frazil.system.clock import to_us

WORDS = Parser._words
JOINED = joined

# For each target a parser as it is easily written wrong, in whose place, and what shows it.
BROKEN = {
    "layout": (
        "frazil.layout.layout.parse_layout",
        lambda text: parse_layout(text.replace("~", "")),
        b"time:40~ node:12 sequence:12 @1ms since ?",
    ),
    "scheme": ("frazil.schemes.scheme._preset", lambda spec: _preset(spec.lower()), b"TSID"),
    "epoch": (
        "frazil.schemes.scheme.epoch_us",
        lambda text: to_us(datetime.fromisoformat(text)),
        b"2025-01-01T05:00",
    ),
    "shuffle": ("frazil.schemes.shuffle.Shuffle.invert", lambda _self, n: n, b"table:1,2,0"),
    "codec": ("frazil.schemes.codec.Codec.decode", lambda _self, text: int(text), b"1_0"),
    "duration": ("frazil.inputs.duration.exact_us", lambda number, _: exact_us(number, "s"), b"3d"),
    "holder": (
        "frazil.claims.holder.Holder.parse",
        lambda text: Holder(*text.partition(":")[::2]),
        b"h:",
    ),
    "url": ("frazil.inputs.masking._mask", lambda found: found[0], b"etcd://user:secret1@host"),
    "line": (
        "frazil.reading.search.words",
        lambda line: [str(int(word) + 1) for word in line.split()[1:]],
        b"id 1423871704681156227",
    ),
    "inspect": ("frazil.cli.inspect.draw", lambda *_, **__: 1 // 0, b"1423871704681156227"),
    "rows": (
        "frazil.cli.files.stamping.joined",
        lambda *args, **named: bytes(JOINED(*args, **named)).replace(b" ", b""),
        b"\0a,b\n1, 2\n",
    ),
    "commands": (
        "frazil.service.redis.parser.Parser._words",
        lambda self: [word.upper() for word in WORDS(self) or ()] or None,
        b"\1ping\r\n",
    ),
    "query": (
        "frazil.service.http.asgi.parse_qsl",
        lambda text, **_: [part.split("=") for part in text.split("&")],
        b"n=1%30",
    ),
    "accept": ("frazil.service.http.formats._range", lambda _: ("*", 1.0), b"text/plain;q=0.5"),
    "settings": ("frazil.service.settings._server", lambda _: {}, b"[server]\nport = 8000\n"),
}


def found(check, data):
    """The result of an input under a fuzzer: the error that the check raised."""
    try:
        check(data)
    except Exception as error:  # noqa: BLE001 - whatever comes out is the finding
        return error
    return None


@pytest.mark.parametrize("name", TARGETS)
def test_a_wrong_parser_is_found(name, monkeypatch):
    place, wrong, data = BROKEN[name]
    TARGETS[name].check(data)
    monkeypatch.setattr(place, wrong)
    parse_url.cache_clear()
    assert found(TARGETS[name].check, data)
    parse_url.cache_clear()


def test_the_command_replays_a_kept_input(tmp_path, monkeypatch):
    _, wrong, data = BROKEN["duration"]
    kept = tmp_path / "crash"
    kept.write_bytes(data)
    words = ["duration", "--replay", str(kept)]
    assert command.main(words) == 0
    monkeypatch.setattr("frazil.inputs.duration.exact_us", wrong)
    with pytest.raises(AssertionError):
        command.main(words)
