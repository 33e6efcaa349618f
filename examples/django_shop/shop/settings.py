"""The settings. SHOP_DB_PORT: the port of a PostgreSQL on this host."""

import os

_PORT = os.environ["SHOP_DB_PORT"]

# How the shop's IDs look, and who makes them. Nothing else in this example says it again.
FRAZIL = {
    "url": f"postgresql://postgres@127.0.0.1:{_PORT}/postgres",
    "schemes": {
        "order": {"prefix": "order_", "encoding": "base62", "namespace": "orders"},
        "shop.Customer": {"prefix": "customer_", "encoding": "base32", "namespace": "customers"},
    },
}
DEFAULT_AUTO_FIELD = "frazil.django.FrazilAutoField"

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "postgres",
        "USER": "postgres",
        "HOST": "127.0.0.1",
        "PORT": _PORT,
    }
}
INSTALLED_APPS = [
    "frazil.django",
    "rest_framework",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "shop",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "loggers": {"shop": {"handlers": ["stderr"], "level": "INFO"}},
}
SECRET_KEY = os.environ.get("SHOP_SECRET_KEY", "of this example alone")
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "shop.urls"
STATIC_URL = "static/"
USE_TZ = True
REST_FRAMEWORK = {"DEFAULT_PERMISSION_CLASSES": []}  # a shop without customers to protect
