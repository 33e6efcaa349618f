"""A converter for each scheme."""

import pytest


def test_a_url_holds_the_text_and_a_view_gets_the_id(site):
    from django.urls import resolve, reverse

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
    from django.urls import Resolver404, resolve

    with pytest.raises(Resolver404):
        resolve(path)
