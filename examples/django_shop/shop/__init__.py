"""A shop with Django, its admin and Django REST framework."""
