"""The annotation of Pydantic: text in JSON, an int in Python, and a validation error otherwise."""

import json
import re
import subprocess
import sys
from typing import Annotated, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

import frazil
from frazil.errors import ConfigError, Misuse
from frazil.pydantic import Id

__all__: list[str] = []

ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
USER = frazil.scheme("icicle", prefix="user_", encoding="base62")
N = 1423871704681156721  # JavaScript makes ...700 of it
TEXT = ORDER.format(N)
OrderId = Annotated[int, Id(ORDER)]
UserId = Annotated[int, Id(USER)]
SmallId = Annotated[int, Id("js53", json="number")]

WRONG = [-1, 2**63, 2**70, "1", str(N), "1.0", "", "user_1hDvWfhIVbE", TEXT + "0", True, 1.0, b"1"]
WRONG += [None, [], {}, UUID(int=1)]


class Order(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: OrderId
    parent: OrderId | None = None
    others: list[OrderId] = []
    counts: dict[OrderId, int] = {}


def test_python_keeps_ints_and_json_has_text():
    order = Order(id=N, parent=TEXT, others=[N, TEXT], counts={TEXT: 1})
    assert order.model_dump() == {"id": N, "parent": N, "others": [N, N], "counts": {N: 1}}
    shown = {"id": TEXT, "parent": TEXT, "others": [TEXT, TEXT], "counts": {TEXT: 1}}
    assert order.model_dump(mode="json") == shown
    assert json.loads(order.model_dump_json()) == shown
    assert Order.model_validate_json(order.model_dump_json()) == order
    assert Order.model_validate(order) == order
    assert Order(id=N).model_dump_json(exclude_unset=True) == f'{{"id":"{TEXT}"}}'


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_anything_else_is_a_validation_error(wrong):
    with pytest.raises(ValidationError) as caught:
        Order(id=wrong)
    (fault,) = caught.value.errors()
    assert (fault["type"], fault["loc"], fault["ctx"]["scheme"]) == ("frazil_id", ("id",), "icicle")
    assert "\n" not in fault["msg"]
    json.dumps(caught.value.errors(include_input=False))


@pytest.mark.parametrize("wrong", [str(N), "true", "1.0", "null", '"1"', "[]"])
def test_json_has_text_only(wrong):
    """A number in JSON may be one that JavaScript has rounded."""
    with pytest.raises(ValidationError):
        Order.model_validate_json(f'{{"id": {wrong}}}')


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


def test_wide_ids_are_uuids_too():
    adapter = TypeAdapter(Annotated[int, Id("globalid-128")])
    assert adapter.validate_python(UUID(int=N)) == N
    assert adapter.dump_json(N) == f'"{N:032x}"'.encode()


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


HANGS = """
import frazil, pydantic
class Wrong(pydantic.BaseModel):
    id: int = frazil.open("memory:")
try:
    Wrong().model_dump_json()
except Exception as error:
    print(error)
"""


def test_without_the_annotation_it_ends_too():
    """A generator once was iterable, and Pydantic wrote all of its IDs."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HANGS],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "a generator has no end" in done.stdout


def test_what_is_annotated_is_an_int():
    for kind in (str, int | None):
        with pytest.raises(Misuse, match=r"write Annotated\[int, Id\(scheme\)\]"):
            TypeAdapter(Annotated[kind, Id(ORDER)])


def test_it_is_a_value():
    """So that an annotation can be a key, as in a type_annotation_map."""
    assert {OrderId: 1}[Annotated[int, Id(ORDER)]] == 1
    assert Id(ORDER) != Id(USER)


def test_without_pydantic():
    code = "import sys; sys.modules['pydantic'] = None; import frazil.pydantic"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "frazil[pydantic]"' in done.stderr
