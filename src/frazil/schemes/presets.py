"""The layouts of published systems, bit for bit, as data."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Preset(NamedTuple):
    """A scheme as text: the layout, the encoding, the shuffle (empty for none)."""

    layout: str
    encoding: str = "decimal"
    shuffle: str = ""


_UNIQUEID = "sequence:6 node[10..8] mode:1={mode} node[7..0] cluster:4=0"
_CHIBRARY_SHUFFLE = (
    "table:3,15,20,26,6,25,23,0,16,41,18,46,42,32,31,34,1,12,7,38,33,24,2,10,14,37,5,43,13,29,27,"
    "35,21,8,44,4,9,30,36,19,39,45,40,17,22,11,28"
)
_UUID = (
    "version:4={version} sequence[25..14] variant:2=2 sequence[13..0] node:48 "
    "@1ms since 1970-01-01T00:00:00Z"
)
_SNOWFLAKE = "sign:1=0 time:41 node:10 sequence:12 @1ms since "

PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "icicle": Preset(_SNOWFLAKE + "2016-02-18T09:43:20.316Z"),
        "snowflake": Preset(_SNOWFLAKE + "2010-11-04T01:42:54.657Z"),
        "discord": Preset(
            "time:42 node.worker:5 node.process:5 sequence:12 @1ms since 2015-01-01T00:00:00Z"
        ),
        "instagram": Preset("time:41 node:13 sequence:10 @1ms since 2011-08-24T21:07:01.721Z"),
        "sonyflake": Preset("sign:1=0 time:39 sequence:8 node:16 @10ms since 2014-09-01T00:00:00Z"),
        "tsid": Preset("time:42 node:10 sequence:12 @1ms since 2020-01-01T00:00:00Z", "base32"),
        "globalid": Preset("node:10 time:47 sequence:7 @1ms since 1970-01-01T00:00:00Z"),
        "globalid-128": Preset(
            "zero:20=0 node:20 time:71 sequence:17 @1ms since 1970-01-01T00:00:00Z", "hex"
        ),
        "uniqueid-spread": Preset(
            f"time:42~ {_UNIQUEID.format(mode=0)} @1ms since 1970-01-01T00:00:00Z", "hex"
        ),
        "uniqueid-sequential": Preset(
            f"time:42 {_UNIQUEID.format(mode=1)} @1ms since 1970-01-01T00:00:00Z", "hex"
        ),
        "chibrary": Preset("version:3=0 run:30 sequence:14", "base62", _CHIBRARY_SHUFFLE),
        "chibrary-time": Preset("version:3=0 time:32 sequence:8 node:4 @1s since ?", "base62"),
        "chibrary-40": Preset("node.server:4 node.pid:16 sequence:20", "base62"),
        "js53": Preset("time:32 node:10 sequence:11 @1s since 2025-01-01T00:00:00Z"),
        "tickets": Preset("sign:1=0 sequence:63"),
        "uuid7": Preset(f"time:48 {_UUID.format(version=7)}", "uuid"),
        "uuid8": Preset(f"time:48~ {_UUID.format(version=8)}", "uuid"),
    }
)
"""The schemes that have a name."""
