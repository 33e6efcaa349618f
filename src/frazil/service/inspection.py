"""What is in an ID of a namespace, as both doors tell it."""

import json
from typing import Any

from frazil.alphabet import DIGITS
from frazil.clock import moment_text, wall_us
from frazil.codec import Codec
from frazil.drawing import spans
from frazil.service.issuer import Issuer

__all__ = ["facts_of", "inspection"]


def facts_of(issuer: Issuer, text: str, encoding: str = "") -> dict[str, Any]:
    """Everything that is known of an ID; encoding: how it is written, if not as its scheme does.

    Raises CodecError for a text that is no ID, ConfigError for an encoding that is none.
    """
    scheme = issuer.scheme
    codec = Codec(encoding, scheme.bits) if encoding else scheme.codec
    n = codec.decode(text)
    values = scheme.unpack(n)
    us = values.moment_us
    bare = n if scheme.shuffle is None else scheme.shuffle.invert(n)
    roles = {field.name: field.role for field in scheme.layout.fields}
    return {
        "namespace": issuer.name,
        "scheme": scheme.name,
        "id": scheme.format(n),
        "number": str(n),
        "moment": None if us is None else moment_text(us),
        "age_s": None if us is None else round((wall_us() - us) / 1e6, 3),
        "fields": [
            {"name": name, "role": roles[name], "value": str(value)}
            for name, value in values.items()
        ],
        "spans": [
            {"name": name, "role": role, "bits": bits}
            for name, role, bits in spans(scheme.layout, bare)
        ],
        "foreign": list(values.foreign),
        "texts": {name: Codec(name, scheme.bits).encode(n) for name in DIGITS},
    }


def inspection(issuer: Issuer, text: str) -> str:
    """The facts as JSON."""
    return json.dumps(facts_of(issuer, text), ensure_ascii=False)
