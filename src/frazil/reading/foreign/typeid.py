"""TypeIDs: a prefix, ``_`` and a UUID in 26 characters of base32, all of lower case.

Source: TypeID specification 0.3. A TypeID without a prefix is not told from a ULID.
"""

import re
from dataclasses import replace

from frazil.errors import CodecError
from frazil.reading.foreign import uuids
from frazil.reading.foreign.identifier import Foreign
from frazil.schemes.codec import Codec

_TEXT = re.compile(r"([a-z](?:[a-z_]{0,61}[a-z])?)_([0-9a-z]{26})", re.ASCII)
_CODEC = Codec("base32", 128)


def read(text: str) -> Foreign | None:
    """The TypeID of a text with a prefix; None for another text.

    Raises CodecError for capitals, and for a suffix that is not 128 bits of base32.
    """
    form = _TEXT.fullmatch(text)
    if form is None:
        if text != text.lower() and _TEXT.fullmatch(text.lower()):
            raise CodecError(
                f"{text!r} has the form of a TypeID, which has no capitals; write {text.lower()}",
                text=text,
            )
        return None
    prefix, suffix = form[1], form[2]
    try:
        number = _CODEC.decode(suffix)
    except CodecError as error:
        raise CodecError(f"{text!r} has the form of a TypeID, but {error}", text=text) from None
    inside = uuids.of_number(number, text, "base32")
    usual = inside.format == "UUIDv7"
    note = inside.note if usual else f"a {inside.format}; the usual TypeID has a UUIDv7"
    return replace(
        inside,
        format="TypeID",
        texts={"typeid": text, **inside.texts},
        prefix=f"{prefix}_",
        note=note,
    )
