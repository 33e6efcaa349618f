"""A layout cuts the number: fields, their bits, and what time they count."""

__all__: list[str] = []
