"""The shop of examples/django_shop: migrated, served by gunicorn, and used as people use it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

import frazil
from tests.servers.gunicorn import gunicorn
from tests.servers.postgres import Postgres, postgres
from tests.tools.waiting import until

SHOP = Path(__file__).resolve().parents[2] / "examples" / "django_shop"
ORDER = frazil.scheme("icicle", prefix="order_", encoding="base62")
BULK = 10_000


def environment(server: Postgres) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "shop.settings",
        "DJANGO_SUPERUSER_PASSWORD": "frazil",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SHOP_DB_PORT": str(server.port),
    }


def run(server: Postgres, *arguments: str) -> str:
    command = [sys.executable, "-W", *arguments]
    done = subprocess.run(
        command, cwd=SHOP, env=environment(server), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def manage(server: Postgres, *arguments: str) -> str:
    return run(server, "error", "manage.py", *arguments)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with postgres() as running:
        manage(running, "migrate", "--verbosity=0")
        frazil.init(running.url(), namespace="orders", new=True)
        manage(running, "createsuperuser", "--noinput", "--username=ada", "--email=ada@example.org")
        yield running


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shop") / "log"


@pytest.fixture(scope="module")
def shop(server: Postgres, log: Path) -> Iterator[str]:
    with gunicorn(SHOP, environment(server), log, "shop.wsgi", "--preload", "--threads=2") as url:
        yield url


def post(shop: str, path: str, body: Any) -> httpx.Response:
    return httpx.post(shop + path, json=body, timeout=240)


@pytest.fixture(scope="module")
def browser(shop: str) -> Iterator[httpx.Client]:
    """It has signed in to the admin."""
    with httpx.Client(base_url=shop, follow_redirects=True, timeout=60) as client:
        client.get("/admin/login/")
        send(client, "/admin/login/", {"username": "ada", "password": "frazil"})
        assert "Site administration" in client.get("/admin/").text
        yield client


def send(browser: httpx.Client, path: str, form: dict[str, str]) -> httpx.Response:
    token = browser.cookies["csrftoken"]
    return browser.post(path, data={**form, "csrfmiddlewaretoken": token})


def test_one_id_is_the_same_text_everywhere_and_a_bigint_in_the_table(
    server: Postgres, shop: str, browser: httpx.Client, log: Path
) -> None:
    made = post(shop, "/api/orders/", {"note": "first"})
    assert made.status_code == 201
    text = made.json()["id"]
    assert re.fullmatch(ORDER.codec.pattern, text)
    number = ORDER.parse(text)
    assert number > 1 << 53

    assert server.sql("SELECT id FROM shop_order WHERE note = 'first'") == [(number,)]
    columns = "SELECT column_name, data_type, is_identity FROM information_schema.columns WHERE "
    assert server.sql(f"{columns} table_name = 'shop_order' AND column_name = 'id'") == [
        ("id", "bigint", "NO")
    ]
    assert server.sql(f"{columns} table_name = 'shop_item' AND column_name = 'order_id'") == [
        ("order_id", "bigint", "NO")
    ]
    for path in (f"/api/orders/{text}/", f"/orders/{text}/"):
        assert httpx.get(shop + path).json()["id"] == text
    until(lambda: f"new order {text}\n" in log.read_text(), "the log")

    url = f"/admin/shop/order/{text}/change/"
    assert f'href="{url}"' in browser.get("/admin/shop/order/").text
    assert f"Order object ({text})" in browser.get(url).text
    assert str(number) not in browser.get("/admin/shop/order/").text + browser.get(url).text


def test_the_admin_adds_with_lines_finds_and_deletes_by_the_text(
    server: Postgres, browser: httpx.Client
) -> None:
    lines = {"items-TOTAL_FORMS": "1", "items-INITIAL_FORMS": "0", "items-0-name": "ice"}
    browser.get("/admin/shop/order/add/")
    added = send(browser, "/admin/shop/order/add/", {"note": "by hand", "customer": "", **lines})
    assert "was added successfully" in added.text
    ((number,),) = server.sql(
        "SELECT o.id FROM shop_order o JOIN shop_item i ON i.order_id = o.id "
        "WHERE o.note = 'by hand'"
    )
    text = ORDER.format(number)
    page = browser.get(f"/admin/shop/order/{text}/change/").text
    assert f'name="items-0-order" value="{text}"' in page
    found = browser.get("/admin/shop/order/", params={"q": text}).text
    assert "1 order" in found
    assert text in found
    deleted = send(browser, f"/admin/shop/order/{text}/delete/", {"post": "yes"})
    assert "was deleted successfully" in deleted.text
    assert server.sql(f"SELECT 1 FROM shop_order WHERE id = {number}") == []


@pytest.mark.parametrize(
    "wrong", ["order_1hDvWfhIVb", "nonsense", "order_zzzzzzzzzzz", 1423871704681156227, True, 1.5]
)
def test_a_wrong_id_answers_400_or_404_and_never_500(shop: str, wrong: object) -> None:
    answer = post(shop, "/api/items/", {"order": wrong, "name": "ice"})
    assert answer.status_code == 400
    assert list(answer.json()) == ["order"]
    for path in ("/api/orders", "/orders"):
        assert httpx.get(f"{shop}{path}/{wrong}/").status_code == 404
    unknown = ORDER.format(1)
    assert post(shop, "/api/items/", {"order": unknown, "name": "ice"}).status_code == 400
    assert httpx.get(f"{shop}/orders/{unknown}/").status_code == 404


def test_forked_workers_insert_rows_by_the_thousand_and_none_twice(
    server: Postgres, shop: str
) -> None:
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(post, shop, f"/api/bulk/{n}/", None) for n in (BULK, *[500] * 12)]
        texts = [text for answer in asked for text in answer.result().json()]
    numbers = {ORDER.parse(text) for text in texts}
    assert len(numbers) == len(texts) == BULK + 12 * 500
    assert len({ORDER.unpack(n).node for n in numbers}) == 2  # both workers made some
    rows = {n for (n,) in server.sql("SELECT id FROM shop_order WHERE note = 'bulk'")}
    assert rows == numbers


MOVED = """
import json, sys
from datetime import UTC, datetime, timedelta
import django
django.setup()
from django.db import connection, models
from shop.models import Order
from frazil.django import FrazilAutoField

def fields(key):
    return {"__module__": "shop.models", "id": key, "Meta": type("Meta", (), {"app_label": "shop"})}

Old = type("Old", (models.Model,), fields(models.BigAutoField(primary_key=True)))
with connection.schema_editor() as editor:
    editor.create_model(Old)
Old.objects.bulk_create([Old(), Old()])
New = type("Old", (models.Model,), fields(FrazilAutoField("order", primary_key=True)))
with connection.schema_editor() as editor:
    editor.alter_field(Old, Old._meta.get_field("id"), New._meta.get_field("id"))
made = New.objects.create()
now = datetime.now(UTC)
within = Order.objects.filter(id__within=(now, now + timedelta(hours=1)))
with connection.cursor() as cursor:
    cursor.execute("SET enable_seqscan = off")
json.dump([list(map(str, New.objects.order_by("id"))), str(made), within.explain()], sys.stdout)
"""


def test_a_table_with_a_sequence_is_moved_and_an_interval_uses_the_index(server: Postgres) -> None:
    rows, made, plan = json.loads(run(server, "ignore::RuntimeWarning", "-c", MOVED))
    old = [f"Old object ({ORDER.format(n)})" for n in (1, 2)]
    assert rows == [*old, made]  # the numbers of the sequence stay
    columns = "SELECT data_type, is_identity, column_default FROM information_schema.columns WHERE"
    assert server.sql(f"{columns} table_name = 'shop_old'") == [("bigint", "NO", None)]
    assert re.search(r"Index.* on shop_order|Index Scan using shop_order_pkey", plan), plan
    assert re.search(
        r"Index Cond: \(\(id >= '?\d+'?::bigint\) AND \(id <= '?\d+'?::bigint\)\)", plan
    )
