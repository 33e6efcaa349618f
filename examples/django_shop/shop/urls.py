"""The URLs."""

from django.contrib import admin
from django.urls import include, path
from rest_framework.routers import DefaultRouter

from shop import api

router = DefaultRouter()
router.register("orders", api.Orders)
router.register("items", api.Items)

urlpatterns = [
    path("admin/", admin.site.urls),
    path("api/bulk/<int:count>/", api.bulk),
    path("api/", include(router.urls)),
    path("orders/<frazil.order:order>/", api.order_page, name="order"),
]
