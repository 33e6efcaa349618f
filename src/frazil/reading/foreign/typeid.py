"""TypeIDs: a prefix, ``_`` and a UUID in 26 characters of base32, all of lower case."""

import re
from dataclasses import replace

from frazil.errors import CodecError
from frazil.reading.foreign import uuids
from frazil.reading.foreign.identifier import Foreign
from frazil.schemes.codec import Codec

__all__ = ["read"]

_TEXT = re.compile(r"([a-z](?:[a-z_]{0,61}[a-z])?)_([0-9a-z]{26})", re.ASCII)
_CODEC = Codec("base32", 128)


def read(text: str) -> Foreign | None:
    """The TypeID of a text with a prefix; None for another text.

    Raises CodecError for a suffix that is not 128 bits of base32, or not a UUID.
    """
    form = _TEXT.fullmatch(text)
    if form is None:
        return None
    prefix, suffix = form[1], form[2]
    try:
        number = _CODEC.decode(suffix)
    except CodecError as error:
        raise CodecError(f"{text!r} has the form of a TypeID, but {error}", text=text) from None
    inside = uuids.of_number(number, text, "base32")
    version = inside.format.removeprefix("UUID")
    note = inside.note if version == "v7" else f"a UUID{version}; the usual TypeID has a UUIDv7"
    return replace(
        inside,
        format="TypeID",
        canonical=text,
        texts={"typeid": text, **inside.texts},
        prefix=f"{prefix}_",
        note=note,
    )
