"""The converter and the validator of attrs."""

import attrs
import pytest

import frazil
from frazil.attrs import converter, validator
from frazil.errors import CodecError

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
N = 1423871704681156721
WRONG = [-1, 2**63, 2**70, "1", "user_1hDvWfhIVbE", True, 1.0, None]


@attrs.define
class Order:
    id: int = attrs.field(converter=converter(ORDER), repr=ORDER.format)
    parent: int | None = attrs.field(
        default=None, converter=attrs.converters.optional(converter(ORDER))
    )


@attrs.define
class Strict:
    id: int = attrs.field(validator=validator(ORDER))


def test_a_converter_reads_each_form():
    order = Order(ORDER.format(N))
    assert order.id == N
    assert repr(order) == f"Order(id={ORDER.format(N)}, parent=None)"
    order.parent = ORDER.format(N)  # also when it is set
    assert order.parent == N


@pytest.mark.parametrize("wrong", WRONG)
def test_anything_else_is_refused(wrong):
    with pytest.raises(CodecError):
        Order(wrong)
    with pytest.raises(CodecError, match=r"^id: .*give an ID of scheme 'icicle'"):
        Strict(wrong)
