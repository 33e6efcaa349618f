"""The app, which registers everything with Django at the start."""

from django.apps import AppConfig, apps
from django.core.checks import Tags, register

from frazil.errors import ConfigError


class FrazilConfig(AppConfig):
    """``INSTALLED_APPS = ["frazil.django"]``. Opens nothing and contacts nothing."""

    name = "frazil.django"
    label = "frazil"
    verbose_name = "frazil"

    def ready(self) -> None:
        """Register lookups, checks, serializers, URL converters, and DRF's fields."""
        from frazil.django import checks, lookups, serializers, urls

        _ = lookups.Within.lookup_name  # registered by the import
        register(checks.check_settings, "frazil")
        register(checks.check_defaults, "frazil")
        register(checks.check_apps, "frazil")
        register(checks.check_production, "frazil", deploy=True)
        register(checks.check_namespaces, Tags.database)
        serializers.register()
        try:
            urls.register()
        except ConfigError:
            return  # check_settings reports it, with all others
        if apps.is_installed("rest_framework"):
            from frazil.django import rest

            rest.register()
