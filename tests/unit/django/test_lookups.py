"""``within``: rows of a time interval, by the index of the key.

And a converter of URLs for each scheme.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import override_settings
from django.urls import Resolver404, resolve, reverse

import frazil
from frazil.errors import ConfigError

ORDER = frazil.scheme("icicle")
START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def orders_at(site, *moments):
    ids = [ORDER.layout.window(moment, moment + timedelta(milliseconds=1))[0] for moment in moments]
    return site.Order.objects.bulk_create([site.Order(id=n) for n in ids])


def test_rows_of_an_interval(site):
    tick = timedelta(milliseconds=1)
    moments = [START - tick, START, START + HOUR - tick, START + HOUR]
    before, first, last, after = orders_at(site, *moments)
    found = site.Order.objects
    assert set(found.filter(id__within=(START, START + HOUR))) == {first, last}
    assert set(found.exclude(pk__within=[START, START + HOUR])) == {before, after}
    item = site.Item.objects.create(order=first)
    assert site.Item.objects.get(order__id__within=(START, START + HOUR)) == item
    assert not found.filter(id__within=(START, START)).exists()


def test_it_is_a_range_of_the_index(site):
    found = site.Order.objects.filter(id__within=(START, START + HOUR))
    assert "SEARCH site_order USING" in found.explain()
    assert "(id>? AND id<?)" in found.explain()


def test_a_naive_moment_is_in_the_zone_of_the_settings(site):
    (order,) = orders_at(site, START)
    naive = datetime(2026, 1, 1, 2)  # noqa: DTZ001
    for zoned in (True, False):
        with override_settings(TIME_ZONE="Europe/Kyiv", USE_TZ=zoned):
            assert site.Order.objects.get(id__within=(naive, naive + HOUR)) == order


def test_the_last_interval_ends_with_the_column(site):
    end = datetime(2085, 10, 22, 1, 0, tzinfo=UTC)
    stop = ORDER.unpack(ORDER.id_max).moment
    assert stop is not None
    assert end < stop
    site.Order.objects.bulk_create([site.Order(id=ORDER.id_max)])
    assert (
        site.Order.objects.filter(id__within=(end, stop + timedelta(milliseconds=1))).count() == 1
    )


@pytest.mark.parametrize("wrong", [START, (START,), (START, None), (1, 2), "ab", ("a", "b")])
def test_anything_else_is_refused(site, wrong):
    with pytest.raises(ConfigError, match="two datetimes"):
        site.Order.objects.filter(id__within=wrong)


def test_a_url_holds_the_text_and_a_view_gets_the_id(site):
    order = site.Order.objects.create()
    url = f"/orders/{order.id}/"
    assert (
        reverse("order", args=[order.id]) == reverse("order", kwargs={"pk": int(order.id)}) == url
    )
    assert reverse("order", args=[str(order.id)]) == url
    found = resolve(url).kwargs["pk"]
    assert (found, str(found)) == (order.id, str(order.id))
    tag = site.Tag.objects.create()
    assert resolve(reverse("tag", args=[tag.id])).kwargs == {"pk": tag.id}


@pytest.mark.parametrize(
    "path",
    [
        "/orders/1/",
        "/orders/order_zzzzzzzzzzz/",
        "/orders/customer_1/",
        "/orders/order_AzL8n0Y58m8/",  # 2**63
        "/orders/order_LygHa16AHYF/",  # 2**64 - 1
        "/tags/01/",
        "/tags/9223372036854775813/",
        "/tags/",
    ],
)
def test_another_text_is_no_url(site, path):
    with pytest.raises(Resolver404):
        resolve(path)
