"""URLs with a converter."""

from django.http import HttpResponse
from django.urls import path

urlpatterns = [
    path("orders/<frazil.order:pk>/", lambda _, pk: HttpResponse(repr(pk)), name="order"),
    path("tags/<frazil.default:pk>/", lambda _, pk: HttpResponse(repr(pk)), name="tag"),
]
