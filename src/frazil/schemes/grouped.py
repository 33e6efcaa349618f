"""Grouped text: IDs that people read aloud, copy and type.

    0CH9-ZT8G-4G08-0A

A group of four characters is easier to keep in mind than fourteen. What comes back was typed by a
person, so it is read as it was meant: with a hyphen, a space or nothing between any two characters;
in either case, if the alphabet has one case; and with O for 0 and I or L for 1 (or the other way
round), if the alphabet has only one of them. No character that the encoding has is read as another
one, so a text has at most one number. Check characters find what a person got wrong.

The hyphens are in fixed places, so texts sort as they do without them. The prefix is read as it is
written.

Limits: an ID has many texts here; compare and store numbers. A UUID has groups of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frazil.errors import CodecError, ConfigError, InternalError, brief
from frazil.schemes.alphabet import LIKE_ONE, confused, meant_by
from frazil.schemes.codec import Codec, check_text, each
from frazil.system.cached import Cached

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

SEPARATORS = "- "
_STRAY = re.compile("^[- ]|[- ](?=[- ]|$)")


@dataclass(frozen=True)
class GroupedCodec(Codec):
    """The text of the codec ``inner`` in groups of ``group`` characters; the last may be shorter.

    The other fields are those of ``inner``. Raises ConfigError for a group of less than one
    character, a UUID, and an alphabet of one case in which people take two digits for each other.
    """

    inner: Codec = field(kw_only=True)
    group: int = field(kw_only=True)

    def __post_init__(self) -> None:
        if type(self.group) is not int or self.group < 1:
            raise ConfigError(
                f"a group has at least 1 character, not {brief(self.group)}; write group=4, or "
                "nothing for text without groups",
                value=self.group,
                limit=1,
            )
        if self.encoding == "uuid":
            raise ConfigError(
                "a UUID has groups of its own; leave out group=, or use another encoding",
                encoding=self.encoding,
            )
        if meant_by(self.encoding) and (pair := confused(self.encoding)):
            raise ConfigError(
                f"people take {pair[0]} and {pair[1]} for each other, and {self.encoding} has "
                "both; leave one of them out, or the groups",
                encoding=self.encoding,
                value=pair,
            )

    @property
    def width(self) -> None:
        """None: a person may write separators or not."""
        return

    @Cached
    def pattern(self) -> str:
        """A regular expression of all texts that are read; see ``Codec.pattern``."""
        return self.inner.pattern_of(meant_by(self.encoding), f"[{SEPARATORS}]?")

    @Cached
    def length(self) -> int:
        """The characters of the longest text."""
        return 2 * self.inner.length - len(self.prefix) - 1

    @property
    def plain(self) -> bool:
        """False: it may have hyphens."""
        return False

    @Cached
    def _table(self) -> dict[int, str | None]:
        return str.maketrans({**meant_by(self.encoding), **dict.fromkeys(SEPARATORS)})

    def encode(self, n: int) -> str:
        return self._cut(self.inner.encode(n))

    def decode(self, text: str) -> int:
        check_text(text)
        if len(text) <= self.length:
            try:
                return self.inner.decode(self._as_written(text))
            except CodecError:
                pass
        self._refuse(text)

    def encode_array(self, numbers: NDArray[Any]) -> NDArray[np.bytes_]:
        import numpy as np

        texts = self.inner.encode_array(numbers).astype(str).tolist()
        return np.array([self._cut(text) for text in texts], f"S{self.length}")

    def decode_array(self, texts: Iterable[str] | NDArray[Any]) -> NDArray[Any]:
        from frazil.schemes import arrays

        column = arrays.listed(arrays.text_column(texts))
        try:
            return self.inner.decode_array(
                [self._as_written(text) if isinstance(text, str) else text for text in column]
            )
        except CodecError:
            each(self.decode, column)
            raise InternalError("reading many texts refused what reading one accepts") from None

    def _cut(self, text: str) -> str:
        start, size = len(self.prefix), self.group
        return self.prefix + "-".join(text[at : at + size] for at in range(start, len(text), size))

    def _as_written(self, text: str) -> str:
        """The text as ``inner`` writes it; as it is if separators are in wrong places."""
        start = len(self.prefix)
        body = text[start:]
        if _STRAY.search(body):
            return text
        written = body.translate(self._table)
        if self.inner.marked and written:  # the number of a key, whatever the alphabet
            written = ("1" if body[0] in LIKE_ONE else body[0]) + written[1:]
        return text[:start] + written

    def fault(self, text: str) -> tuple[int, str]:
        start = len(self.prefix)
        if text.startswith(self.prefix) and (stray := _STRAY.search(text[start:])):
            return start + stray.start(), "one separator may stand between two characters"
        position, reason = self.inner.fault(self._as_written(text))
        places = [i for i, c in enumerate(text) if i < start or c not in SEPARATORS]
        return ([*places, len(text)])[position], reason
