"""The IDs of the application: how they look, who makes them, and what they are in the API."""

from typing import Annotated

import frazil
import frazil.pydantic

__all__ = ["OrderId", "next_order", "order"]

order = frazil.scheme("icicle", prefix="order_", encoding="base62")
next_order = frazil.open(namespace="orders", scheme=order)  # FRAZIL_URL says where claims are kept
OrderId = Annotated[int, frazil.pydantic.Id(order)]
