"""The IDs of the application: how they look, who makes them, and what they are in the API."""

from typing import Annotated

import frazil.aio
import frazil.pydantic

__all__ = ["OrderId", "next_order", "order"]

order = frazil.scheme("icicle", prefix="order_", encoding="base62")
# FRAZIL_URL says where the claims are.
next_order = frazil.aio.open(namespace="orders", scheme=order)
OrderId = Annotated[int, frazil.pydantic.Id(order)]
