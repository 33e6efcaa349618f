"""The reference of the layouts, and their drawings in any page.

A page that has the comment ``<!-- layout: icicle -->`` gets the drawing of that scheme there; a
layout string may stand instead of a name.
"""

import re

from click.testing import CliRunner

from frazil.cli import main
from frazil.layout.drawing import svg
from frazil.layout.layout import Layout
from frazil.schemes.presets import PRESETS

__all__ = ["page", "with_drawings"]

_MARK = re.compile(r"^<!-- layout: (.+?) -->$", re.MULTILINE)
_INTRODUCTION = """# Layouts

A layout says which bits of the number are time, node and sequence. It is text, most significant
field first, and this page shows the layouts that have a name. `frazil plan` prints the same facts,
also for a layout of your own; `frazil plan NAME --svg FILE` draws the layout and
`frazil inspect ID --svg FILE` an ID.

    time:41 node:10 sequence:12 @1ms since 2016-02-18T09:43:20.316Z

| Part | Meaning |
|---|---|
| `time:41` | a field of 41 bits, with the ticks since the epoch |
| `time:42~` | the same with its bits reversed, so that consecutive ticks are far apart |
| `node.worker:5 node.process:5` | one node number in two named parts |
| `sequence[25..14]` | a part of a field; the other parts stand elsewhere |
| `sign:1=0` | a constant; `fields={"cluster": 3}` sets one |
| `@1ms` | the length of a tick |
| `since 2016-02-18T09:43:20.316Z` | the epoch; `since ?` is chosen with `epoch=` |
"""
_ABOUT = {
    "icicle": "The default. The layout of Icicle, which made IDs inside Redis.",
    "snowflake": "Twitter's layout and epoch.",
    "discord": "Discord's. The highest bit is time, so IDs made after 2084 exceed a signed BIGINT.",
    "instagram": "Instagram's, with 13 bits for the shard.",
    "sonyflake": "Sonyflake's: many nodes, ticks of 10 ms.",
    "tsid": "The default of hypersistence-tsid and tsid-creator; text is base32.",
    "globalid": "GlobalId's, in milliseconds. IDs of different nodes do not sort by time.",
    "globalid-128": "GlobalId's of 128 bits.",
    "uniqueid-spread": "java-uniqueid's SPREAD: the time is reversed, so that IDs are spread out.",
    "uniqueid-sequential": "java-uniqueid's TIME_SEQUENTIAL.",
    "chibrary": "Chibrary's call numbers: runs of 16,384 numbers, in shuffled base62.",
    "chibrary-time": "The same width, with time instead of a counter of runs.",
    "chibrary-40": "Chibrary's shorter form, a counter.",
    "js53": "Fits the 53 bits that a JavaScript number holds exactly.",
    "tickets": "A plain counter: 1, 2, 3 and so on.",
    "uuid7": "A UUID of version 7 whose random bits are a node number and a sequence.",
    "uuid8": "A UUID of version 8 whose time is reversed, for stores split by ranges of the key.",
}


def page() -> str:
    """Every named layout: what it is, its text, its drawing and its facts."""
    parts = [_INTRODUCTION, "## Compared\n", _printed("plan", "--markdown")]
    parts += [_legend()]
    for name, preset in PRESETS.items():
        parts.append(f"## {name}\n\n{_ABOUT[name]}\n\n```text\n{preset.layout}\n```\n")
        parts.append(f"<!-- layout: {name} -->\n")
        parts.append(f"```text\n{_facts(name)}\n```\n")
    return "\n".join(parts)


def with_drawings(markdown: str) -> str:
    """The page with a drawing in place of each mark."""
    return _MARK.sub(lambda mark: _drawing(mark[1]), markdown)


def _drawing(spec: str) -> str:
    layout = Layout.parse(PRESETS[spec].layout if spec in PRESETS else spec)
    return f'<div class="drawing">\n{svg(layout)}</div>\n'


def _legend() -> str:
    return (
        "*until*: the year in which the time field is full. *IDs/s*: per node. *JS*, *int64*: "
        "whether JavaScript and a signed BIGINT column hold every ID. *order*: whether IDs sort by "
        "time. *text*: encoding and length.\n"
    )


def _facts(name: str) -> str:
    """What ``frazil plan`` prints below its drawing."""
    return _printed("plan", name).rpartition("┘")[2].strip()


def _printed(*arguments: str) -> str:
    done = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output
