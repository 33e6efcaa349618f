"""The formats of IDs in HTTP replies: JSON, text lines, or packed bytes, as Accept requests.

In JSON an ID is a string: JavaScript and many JSON libraries read numbers as doubles, and silently
change those above 2**53. If all IDs of a scheme fit, ``?number=1`` requests numbers.

A format defines the text before, between and after the IDs, so that a long reply can be sent in
chunks while the IDs are made.
"""

import json
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from sys import byteorder

from frazil.schemes.scheme import Scheme
from frazil.service.http.asgi import FRESH, SAFE, Headers
from frazil.service.namespace import texts
from frazil.service.problems import Problem
from frazil.walk.walk import COMPILED

PACKED = "application/octet-stream"
JSON, TEXT = "application/json", "text/plain"
_OURS = (JSON, TEXT, PACKED)


class Format(ABC):
    """How the IDs of a reply are written. ``media_type`` is the Content-Type of the reply.

    headers: the headers of a reply, beside type and length. JSON has the namespace and scheme in
    its body, the other formats in headers. takes_words: whether ``some`` prefers an array of 64-bit
    words, which it may modify. width: the bytes of each ID; 0 if they differ, or have text between.
    """

    media_type: bytes
    between = b""
    takes_words = False
    width = 0

    def __init__(self, namespace: str, scheme: Scheme) -> None:
        self.headers: Headers = (
            *SAFE,
            (b"frazil-namespace", namespace.encode()),
            (b"frazil-scheme", scheme.name.encode()),
            (b"frazil-fingerprint", scheme.fingerprint.encode()),
        )
        self.scheme = scheme
        self.plain = scheme.codec.plain
        self.head = self.tail = b""

    def one(self, n: int) -> bytes:
        """Return the whole body for a single ID."""
        return self.some([n])

    @abstractmethod
    def some(self, ids: Sequence[int]) -> bytes:
        """Return some of the IDs of a body that starts with ``head`` and ends with ``tail``."""

    def texts(self, ids: Sequence[int]) -> Iterable[str]:
        """Return the IDs as strings."""
        return map(str, ids) if self.plain else texts(self.scheme, ids)


class Json(Format):
    """``{"namespace":...,"scheme":...,"id":"..."}``, or ``"ids":[...]``."""

    media_type = b"application/json"
    between = b","

    def __init__(self, namespace: str, scheme: Scheme, *, number: bool = False) -> None:
        super().__init__(namespace, scheme)
        self.headers = (FRESH,)
        self.number = number
        names = {"namespace": namespace, "scheme": scheme.name}
        begun = json.dumps(names, separators=(",", ":"))[:-1].encode()
        self._before = begun + (b',"id":' if number else b',"id":"')
        self._after = b"}" if number else b'"}'
        self.head = begun + b',"ids":['
        self.tail = b"]}"

    def one(self, n: int) -> bytes:
        text = str(n) if self.number or self.plain else self.scheme.format(n)
        return self._before + text.encode() + self._after

    def some(self, ids: Sequence[int]) -> bytes:
        if self.number:
            return ",".join(map(str, ids)).encode()
        # No encoding, prefix or check character needs an escape in JSON.
        return b'"%b"' % '","'.join(self.texts(ids)).encode()


class Lines(Format):
    """One ID per line."""

    media_type = b"text/plain; charset=utf-8"

    def some(self, ids: Sequence[int]) -> bytes:
        return "".join(f"{text}\n" for text in self.texts(ids)).encode()


class Packed(Format):
    """Big-endian numbers without separators, in as many whole bytes as the scheme has bits."""

    media_type = PACKED.encode()

    def __init__(self, namespace: str, scheme: Scheme) -> None:
        super().__init__(namespace, scheme)
        self.width = (scheme.bits + 7) // 8
        # The interpreted walk fills numpy arrays, and numpy may not be installed.
        self.takes_words = self.width == 8 and COMPILED

    def some(self, ids: Sequence[int]) -> bytes:
        if self.width != 8:
            return b"".join([n.to_bytes(self.width, "big") for n in ids])
        words = ids if isinstance(ids, array) else array("Q", ids)
        if byteorder == "little":
            words.byteswap()
        return words.tobytes()


def chosen(accept: str) -> str:
    """Return the supported media type that an Accept header prefers; the first one among equals.

    Raises Problem if it accepts none. Source: RFC 9110, 12.5.1.
    """
    ranges = map(_range, (accept.strip() or "*").split(",")[:32])
    wanted = dict(sorted(ranges, key=lambda pair: pair[1]))  # of one range the greatest weight

    def weight(name: str) -> float:
        fitting = (name, f"{name.partition('/')[0]}/*", "*/*", "*")  # the most specific first
        return next((wanted[one] for one in fitting if one in wanted), 0.0)

    best = max(_OURS, key=weight)
    if not weight(best):
        raise Problem("not-acceptable", f"accept one of {', '.join(_OURS)}")
    return best


def _range(part: str) -> tuple[str, float]:
    """Return ``text/*;q=0.5`` as ("text/*", 0.5). An invalid weight counts as 0."""
    name, *parameters = (text.strip() for text in part.lower().split(";"))
    weight = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    try:
        return name, min(max(0.0, float(weight)), 1.0)  # of nan too
    except ValueError:
        return name, 0.0
