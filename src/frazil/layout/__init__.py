"""A layout cuts the number: fields, their bits, and what time they count."""
