"""How a holder signs its claims, and reads its own hand."""

import pytest

from frazil.claims.holder import Holder


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("db7:4711", ("db7", "4711", None)),
        ("db7:4711 1200/s", ("db7", "4711", 1200)),
        ("fe80::1:4711 0/s", ("fe80::1", "4711", 0)),
        ("somebody", ("somebody", "", None)),
        ("a:b", ("a:b", "", None)),
        ("", ("", "", None)),
    ],
)
def test_text(text, parts):
    assert Holder.parse(text) == parts
    assert str(Holder.parse(text)) == text
