"""The type of msgspec: text in JSON, an int in Python, and nothing else."""

import copy
import pickle
from uuid import UUID

import msgspec
import pytest

import frazil
from frazil.errors import Misuse
from frazil.msgspec import Id, dec_hook, enc_hook, schema_hook

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
N = 1423871704681156721  # JavaScript makes ...700 of it
TEXT = ORDER.format(N)


class OrderId(Id, scheme=ORDER):
    pass


class WideId(Id, scheme="globalid-128"):
    pass


class Order(msgspec.Struct):
    id: OrderId
    other: OrderId | None = None
    counts: dict[OrderId, int] = {}


@pytest.mark.parametrize("kind", ["json", "msgpack"])
def test_round_trip(kind):
    codec = getattr(msgspec, kind)
    order = Order(OrderId(N), OrderId(TEXT), {OrderId(N): 3})
    data = codec.encode(order, enc_hook=enc_hook)
    assert TEXT.encode() in data
    assert codec.decode(data, type=Order, dec_hook=dec_hook) == order


@pytest.mark.parametrize("wrong", [str(N), '"1.0"', '"user_1hDvWfhIVbE"', "true", "1.5", "null"])
def test_anything_else_is_a_validation_error(wrong):
    with pytest.raises(msgspec.ValidationError, match=r"at `\$.id`"):
        msgspec.json.decode(f'{{"id": {wrong}}}', type=Order, dec_hook=dec_hook)


def test_it_is_an_int_that_shows_its_text():
    n = OrderId(N)
    assert n == N
    assert hash(n) == hash(N)
    assert f"{n} {n!r} {n:d}" == f"{TEXT} OrderId({TEXT!r}) {N}"
    assert WideId(UUID(int=N)) == N
    for twin in (pickle.loads(pickle.dumps(n)), copy.deepcopy(n)):
        assert type(twin) is OrderId
        assert twin == n


def test_schema():
    schema = msgspec.json.schema(Order, schema_hook=schema_hook)
    found = schema["$defs"]["Order"]["properties"]["id"]
    assert found == {"type": "string", "pattern": ORDER.pattern}


def test_misuse():
    with pytest.raises(Misuse, match="has no scheme; write class"):
        type("Bare", (Id,), {})
    with pytest.raises(Misuse, match="Id itself has no scheme"):
        Id(1)
    for hook in (enc_hook, schema_hook, lambda value: dec_hook(value, 1)):
        with pytest.raises(NotImplementedError):
            hook(complex)
