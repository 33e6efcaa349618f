"""The annotation of Pydantic: text in JSON, an int in Python, and a validation error otherwise."""

import asyncio
import json
import re
from typing import Annotated, Literal, NewType

import httpx
import pytest
from fastapi import Body, FastAPI
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator
from pydantic_core import PydanticSerializationError

import frazil
from frazil.errors import ConfigError, Misuse
from frazil.pydantic import Id

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
USER = frazil.scheme("icicle", prefix="user_", encoding="base62")
N = 1423871704681156721  # JavaScript makes ...700 of it
TEXT = ORDER.format(N)
OrderId = Annotated[int, Id(ORDER)]
UserId = Annotated[int, Id(USER)]
SmallId = Annotated[int, Id("js53", json="number")]


class Order(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: OrderId
    parent: OrderId | None = None
    others: list[OrderId] = []
    counts: dict[OrderId, int] = {}


@pytest.mark.parametrize("strict", [None, True], ids=["lax", "strict"])
def test_each_way_in(strict):
    """The golden table: what is an ID for Python, for JSON, and for a form's or URL's texts."""
    adapter = TypeAdapter(OrderId)
    ways = {
        "python": lambda given: adapter.validate_python(given, strict=strict),
        "json": lambda given: adapter.validate_json(json.dumps(given), strict=strict),
        "strings": lambda given: adapter.validate_strings(given, strict=strict),
    }
    accepted = {"python": [N, TEXT], "json": [TEXT], "strings": [TEXT]}
    for way, read in ways.items():
        for given in (N, TEXT, str(N), True, 1.5, None):
            if given in accepted[way]:
                assert read(given) == N
            else:
                with pytest.raises(ValidationError):
                    read(given)
    assert Order(id=5).id == Order.model_validate({"id": 5}, strict=strict).id == 5


def test_a_new_type_of_int_is_an_int():
    outer = NewType("outer", NewType("inner", int))
    adapter = TypeAdapter(Annotated[outer, Id(ORDER)] | None)
    assert adapter.validate_json(f'"{TEXT}"') == N
    assert adapter.dump_json(N) == f'"{TEXT}"'.encode()
    assert adapter.json_schema()["anyOf"][0] == {"type": "string", "pattern": ORDER.pattern}
    for wrong in (str, NewType("wrong", str)):
        with pytest.raises(Misuse, match="NewType of int"):
            TypeAdapter(Annotated[wrong, Id(ORDER)])


@pytest.fixture(scope="module")
def api():
    """An application whose every way in is an ID, and an answer that Python makes of ints."""

    class Copy(BaseModel):
        """Makes another model of an int while it is validated."""

        id: OrderId

        @field_validator("id", mode="wrap")
        @classmethod
        def wrapped(cls, given, read):
            assert Order(id=5).id == 5
            return read(given)

    app = FastAPI()

    @app.post("/model")
    def model(given: Order) -> dict[str, OrderId]:
        return {"id": given.id}

    @app.post("/wrapped")
    def wrapped(given: Copy) -> Order:
        return Order(id=given.id)

    @app.post("/part")
    def part(given: Annotated[OrderId, Body(embed=True)], other: OrderId = 5) -> list[OrderId]:
        return [given, other]

    return app


def asked(app, method, path, **options):
    async def ask():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())


BODIES = [
    ("/model", lambda n: {"id": n}),
    ("/model", lambda n: {"id": TEXT, "parent": n}),
    ("/model", lambda n: {"id": TEXT, "others": [TEXT, n]}),
    ("/wrapped", lambda n: {"id": n}),
    ("/part", lambda n: {"given": n}),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
def test_fastapi_refuses_a_number_in_a_body(api, path, body):
    assert asked(api, "POST", path, json=body(TEXT)).status_code == 200
    for n in (N, 5, 0):
        reply = asked(api, "POST", path, json=body(n))
        (fault,) = reply.json()["detail"]
        assert (reply.status_code, fault["type"]) == (422, "frazil_id")
        assert "may have been rounded" in fault["msg"]


def test_numbers_where_they_fit():
    adapter = TypeAdapter(SmallId)
    n = frazil.scheme("js53").id_max
    assert adapter.dump_json(n) == str(n).encode()
    assert adapter.validate_json(str(n)) == adapter.validate_json(f'"{n}"') == n
    assert adapter.validate_python(str(n)) == n
    for wrong in ("-1", str(n + 1), "1.0", "true"):
        with pytest.raises(ValidationError):
            adapter.validate_json(wrong)
    keys = TypeAdapter(dict[SmallId, int])
    assert keys.validate_json(keys.dump_json({n: 1})) == {n: 1}
    number = {"type": "integer", "minimum": 0, "maximum": n}
    assert adapter.json_schema(mode="serialization") == number
    assert adapter.json_schema()["anyOf"][0] == number


def test_numbers_where_javascript_would_round_them():
    with pytest.raises(ConfigError, match="JavaScript rounds numbers above 9007199254740991"):
        Id(ORDER, json="number")
    with pytest.raises(ConfigError, match="'text' or 'number'"):
        Id(ORDER, json="digits")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_schema(mode):
    schema = Order.model_json_schema(mode=mode)
    text = {"type": "string", "pattern": ORDER.pattern}
    properties = schema["properties"]
    assert properties["id"] == {**text, "title": "Id"}
    assert properties["parent"]["anyOf"] == [text, {"type": "null"}]
    assert properties["others"]["items"] == text
    assert re.search(properties["id"]["pattern"], TEXT)
    assert not re.search(properties["id"]["pattern"], USER.format(N))


def test_prefixes_tell_types_apart():
    either = TypeAdapter(OrderId | UserId)
    assert either.validate_json(f'"{USER.format(N)}"') == N

    class Paid(BaseModel):
        kind: Literal["paid"]
        id: OrderId

    class Seen(BaseModel):
        kind: Literal["seen"]
        id: UserId

    event = TypeAdapter(Annotated[Paid | Seen, Field(discriminator="kind")])
    seen = event.validate_python({"kind": "seen", "id": USER.format(N)})
    assert isinstance(seen, Seen)
    with pytest.raises(ValidationError, match="it must begin with 'order_'"):
        event.validate_json(json.dumps({"kind": "paid", "id": USER.format(N)}))


def test_a_generator_as_default_factory():
    ids = frazil.open("memory:factory", scheme=ORDER)

    class Made(BaseModel):
        id: OrderId = Field(default_factory=ids)

    one, other = Made(), Made()
    assert one.id != other.id
    assert Made.model_validate_json(one.model_dump_json()) == one


def test_a_generator_as_default_is_an_error_and_not_an_endless_list():
    ids = frazil.open("memory:default", scheme=ORDER)

    class Wrong(BaseModel):
        id: OrderId = ids

    with pytest.raises(PydanticSerializationError, match="default_factory"):
        Wrong().model_dump_json()


def test_what_is_annotated_is_an_int():
    for kind in (str, int | None):
        with pytest.raises(Misuse, match=r"write Annotated\[int, Id\(scheme\)\]"):
            TypeAdapter(Annotated[kind, Id(ORDER)])
