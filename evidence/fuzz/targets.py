"""The targets: for each parser its check, and the texts to begin with.

Texts are decoded like the arguments of a process: bytes that are not UTF-8 become lone surrogates.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from evidence.fuzz import seeds
from evidence.fuzz.codecs import check_codecs
from evidence.fuzz.commands import check_commands
from evidence.fuzz.durations import check_duration, check_holder
from evidence.fuzz.layouts import check_epoch, check_layout, check_scheme, check_shuffle
from evidence.fuzz.lines import check_command, check_line
from evidence.fuzz.requests import check_accept, check_query
from evidence.fuzz.rows import check_rows
from evidence.fuzz.settings import check_settings
from evidence.fuzz.urls import check_url
from frazil.schemes.presets import PRESETS

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """check: raises if the parser or the process gives a wrong answer. seeds: valid inputs."""

    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]


def _of_text(check: Callable[[str], None], texts: Iterable[str]) -> Target:
    def decoded(data: bytes) -> None:
        check(data.decode("utf-8", "surrogateescape"))

    return Target(decoded, tuple(text.encode() for text in texts))


_LAYOUTS = [preset.layout for preset in PRESETS.values()]

TARGETS = {
    "layout": _of_text(check_layout, [*_LAYOUTS, *seeds.LAYOUTS]),
    "scheme": _of_text(check_scheme, [*PRESETS, *_LAYOUTS]),
    "epoch": _of_text(check_epoch, seeds.EPOCHS),
    "shuffle": _of_text(check_shuffle, seeds.SHUFFLES),
    "codec": _of_text(check_codecs, seeds.ids()),
    "duration": _of_text(check_duration, seeds.DURATIONS),
    "holder": _of_text(check_holder, seeds.HOLDERS),
    "url": _of_text(check_url, [*seeds.URLS, *seeds.documented_urls()]),
    "line": _of_text(check_line, seeds.lines()),
    "inspect": _of_text(check_command, seeds.lines()),
    "rows": Target(check_rows, seeds.tables()),
    "commands": Target(check_commands, seeds.COMMANDS),
    "query": Target(check_query, seeds.QUERIES),
    "accept": Target(check_accept, seeds.ACCEPTS),
    "settings": Target(check_settings, seeds.settings()),
}
"""The targets by name, for ``python -m evidence.fuzz``."""
