"""Valid inputs as seeds: from the vectors, from the documentation, and one of each form."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = [
    "ACCEPTS",
    "COMMANDS",
    "DURATIONS",
    "EPOCHS",
    "HOLDERS",
    "LAYOUTS",
    "QUERIES",
    "SHUFFLES",
    "URLS",
    "documented_urls",
    "ids",
    "lines",
    "settings",
    "tables",
]

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("*.md"))]
_URL = re.compile(r"\b[a-z]{4,10}:[/a-z0-9][^\s`'\"|)]*")
_BLOCK = re.compile(r"```toml\n(.*?)```", re.DOTALL)
_SOME = 60

LAYOUTS = (
    "time:42~ sequence:6 node[10..8] mode:1=0 node[7..0] cluster:4=0 @1ms since 1970-01-01",
    "version:3=0 time:32 sequence:8 node:4 @1s since ?",
    "time:40 node.worker:5 node.process:5 sequence:12 @1.5ms since 2025-01-01T00:00:00.000001Z",
    "run:20 sequence:20",
)
EPOCHS = ("2025-01-01", "2025-01-01T00:00:00Z", "20250101T000000+0100", "2025-W01-1")
SHUFFLES = ("seed:v1:hello", "table:2,0,1", "table:" + ",".join(map(str, range(64))))
DURATIONS = ("200ms", "1.5 s", "3d", "10min", "0us", "2h")
HOLDERS = ("db7:4711 1200/s", "db7:4711", "db7", "a:b:7")
URLS = (
    "sqlite:///tmp/x.db?horizon=1s&busy=2s",
    "static:7?state=none",
    "static:env:NAME",
    "static:hostname?horizon=2s",
    "memory:",
    "redis://user:secret1@host:6379/3?replicas=1&timeout=2s&durable=1",
    "rediss://a,b,[::1]:7?horizon=5s&ca=/a.pem",
    "unix:///run/redis.sock?db=1",
    "postgresql://user:secret1@host/db?horizon=5s&connect_timeout=3",
    "etcd://user:secret1@a,b:2379,[::1]?horizon=10s",
    "icicle://a,b:6380?shards=0,7&prefetch=10&replicas=1&cluster=0",
    "http://host:8080/ids/orders?prefetch=100",
    "https://[::1]/orders",
)
COMMANDS = (
    b"\x03*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n*1\r\n$4\r\nPING\r\n",
    b"\x00PING\r\n\r\nINCR orders\n*0\r\n",
    b"\xff" + b"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n" * 5,
)
QUERIES = (b"n=100&number=1", b"", b"from=2025-01-01T00%3A00%3A00Z&to=2025-01-02+00:00")
ACCEPTS = (b"*/*", b"", b"text/*;q=0.5, application/json;q=0.1", b"application/octet-stream")
_TABLES = (
    b'name,number\nAda,1\n"Grace, Jr.",2\n',
    b'name;note\r\nAda;"two\r\nlines"\r\n\r\nGrace;""\r\n',
    b"\xef\xbb\xbfa\tb\n1\t2",
    b'{"name": "Ada", "n": [1, 2.5, null]}\n{"name": "\\u00e9", "n": {"x": true}}\n',
    b'{"a":1}\r\n\n {} \n{"b": 1e400, "a": "\\ud800"}',
)


def ids() -> list[str]:
    """Texts of IDs: every text in the vectors that is not a sentence."""
    found = {text for text in _vector_texts() if text and " " not in text and len(text) < 60}
    found |= {"1423871704681156227", "0x13c1a9d1e5000000", "order_7", "01HYX0V6T3K5G*"}
    return sorted(found)[:: max(1, len(found) // _SOME)]


def lines() -> list[str]:
    """Lines that contain IDs, and single IDs."""
    each = ids()
    logged = [f'2026-11-21T13:01:08Z level=info id={one} took=3ms "{one}"' for one in each]
    return [*each[::4], "-7046029254386353131", *logged[::4]]


def documented_urls() -> list[str]:
    """The URLs that the documentation shows."""
    texts = "\n".join(page.read_text(encoding="utf-8") for page in _PAGES)
    return sorted(set(_URL.findall(texts)))


def tables() -> tuple[bytes, ...]:
    """Tables of both formats, each to be written in both, with the column on either side."""
    return tuple(
        bytes([table.lstrip().startswith(b"{") * 2 + way]) + table
        for table in _TABLES
        for way in (0, 1, 4, 5, 8, 9)
    )


def settings() -> tuple[bytes, ...]:
    """The configurations in the documentation, and the one in ``deploy``."""
    pages = [page.read_text(encoding="utf-8") for page in _PAGES]
    blocks = [block for page in pages for block in _BLOCK.findall(page)]
    whole = (_ROOT / "deploy" / "frazil.toml").read_text(encoding="utf-8")
    return tuple(text.replace("…", "a" * 64).encode() for text in [*blocks, whole])


def _vector_texts() -> Iterator[str]:
    for path in sorted((_ROOT / "tests" / "vectors").glob("*.json")):
        yield from _texts(json.loads(path.read_text(encoding="utf-8")))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, int | str):
        yield str(value)
