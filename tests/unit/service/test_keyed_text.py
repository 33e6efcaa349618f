"""A service with a key writes keyed text, inspects it, and shows the key nowhere."""

import json
import secrets
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from frazil.errors import ConfigError
from frazil.schemes.scheme import scheme
from frazil.service.settings import read_settings


def test_keyed_text_over_http(start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    key = secrets.token_bytes(32)
    monkeypatch.setenv("OLD_KEY", secrets.token_hex(16))
    monkeypatch.setenv("ORDER_KEY", key.hex())
    keys = ["1=env:OLD_KEY", "2=env:ORDER_KEY"]
    head = '[namespaces.orders]\nregistry = "memory:"\nprefix = "order_"\n'
    service = start(f"{head}key = {json.dumps(keys)}")
    client = service.client
    made = client.post("/v1/orders/ids?n=50").json()["ids"]
    subject = scheme(prefix="order_", key=keys)
    numbers = [subject.read(text) for text in made]
    assert numbers == sorted(set(numbers))
    assert made != sorted(made)
    old = scheme(prefix="order_", key="env:OLD_KEY").format(numbers[0])
    for text in (made[0], old):
        reply = client.get(f"/v1/orders/inspect/{text}")
        assert reply.json()["number"] == str(numbers[0])
        assert reply.json()["id"] == made[0]
    span = client.get("/v1/orders/window?from=2026-01-01&to=2026-01-02").json()
    assert span["first"] == subject.format(int(span["first_number"]))
    body = {"text": f"GET /orders/{made[0]} 200, {old}"}
    found = client.post("/v1/orders/find", json=body).json()["found"]
    assert [one["number"] for one in found] == [str(numbers[0])] * 2
    outside = subject.format((1 << 63) + 5)
    for told in (
        client.get(f"/v1/orders/inspect/{outside}").json(),
        client.post("/v1/orders/find", json={"text": outside}).json()["found"][0],
    ):
        assert (told["foreign"], told["doubt"]) == (["sign"], "its sign is 1, not 0")
    late = subject.format(subject.pack(time=1 << 40, node=1, sequence=1))
    assert "its date would be 20" in client.get(f"/v1/orders/inspect/{late}").json()["doubt"]
    unknown = client.get(f"/v1/orders/inspect/order_3{made[0][7:]}")
    assert unknown.status_code == 400
    assert "known: 1, 2" in unknown.text
    shown = [reply.text, unknown.text, *map(json.dumps, service.lines)]
    paths = ("/v1", "/v1/orders", "/v1/orders/claims", "/metrics", "/openapi.json", "/status", "/")
    for path in paths:
        reply = client.get(path)
        shown += [reply.text, str(reply.headers)]
    for secret in (key.hex(), key.hex().upper(), b64encode(key).decode()[:40]):
        assert not [text for text in shown if secret in text]


def test_text_for_people_over_http(start: Any) -> None:
    client = start("""
        [namespaces.tickets]
        registry = "memory:"
        encoding = "alphabet:23456789BCDFGHJKMNPQRSTVWXZ"
        group = 5
        check = true
    """).client
    look = {"encoding": "alphabet:23456789BCDFGHJKMNPQRSTVWXZ", "group": 5, "check": True}
    made = client.post("/v1/tickets/ids?n=3").json()["ids"]
    numbers = [str(scheme(**look).read(text)) for text in made]
    assert len(set(numbers)) == 3
    assert [text.count("-") for text in made] == [3] * 3
    for typed in (made[0], made[0].lower(), made[0].replace("-", "%20"), made[0].replace("-", "")):
        reply = client.get(f"/v1/tickets/inspect/{typed}").json()
        assert (reply["number"], reply["id"]) == (numbers[0], made[0])
    wrong = client.get(f"/v1/tickets/inspect/{made[0][:-1]}{'23'[made[0][-1] == '2']}")
    assert wrong.status_code == 400
    assert "check characters" in wrong.text


def test_a_key_in_the_configuration_is_refused_and_not_shown(tmp_path: Path) -> None:
    key = secrets.token_hex(16)
    file = tmp_path / "frazil.toml"
    for value in (f'"{key}"', f'["{key}"]', f'{{1 = "{key}"}}', "77"):
        file.write_text(f"[namespaces.a]\nkey = {value}\n")
        with pytest.raises(ConfigError, match=r"namespaces\.a\.key") as caught:
            read_settings(file, "memory:")
        assert key not in f"{caught.value} {caught.value.facts}"
