"""Django, set up once in a process: when a first test here runs, and not when tests are found.

So no test module here imports Django's models at its top; a test asks for ``site``.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.needs import needs

SETTINGS: dict[str, Any] = {
    "FRAZIL": {
        "url": "memory:",
        "schemes": {
            "order": {"prefix": "order_", "encoding": "base62"},
            "payment": {"scheme": "sonyflake", "prefix": "pay_", "encoding": "hex"},
            "site.Customer": {"prefix": "customer_", "encoding": "base32", "check": True},
        },
    },
    "DEFAULT_AUTO_FIELD": "frazil.django.FrazilAutoField",
    "DATABASES": {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    "INSTALLED_APPS": [
        "frazil.django",
        "rest_framework",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "tests.unit.django.site",
    ],
    "TEMPLATES": [{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
    "ROOT_URLCONF": "tests.unit.django.site.urls",
    "LOGGING_CONFIG": None,
    "SECRET_KEY": "of a test",
    "TIME_ZONE": "UTC",  # Django's own default becomes that of the process: Chicago
    "USE_TZ": True,
}


@pytest.fixture(scope="session")
def _django() -> ModuleType:
    needs("django", "Django's models")
    needs("rest_framework", "Django REST framework's serializers")
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.configure(**SETTINGS)
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    from tests.unit.django.site import models

    return models


@pytest.fixture
def site(_django: ModuleType) -> Iterator[ModuleType]:
    """The models, with empty tables."""
    from django.db import transaction

    with transaction.atomic():
        yield _django
        transaction.set_rollback(True)
