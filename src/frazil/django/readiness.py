"""The view of a readiness probe: ``path("readyz", frazil.django.readiness.readyz)``."""

from django.http import HttpRequest, HttpResponse

from frazil.django.declared import DEFAULT, declarations
from frazil.readiness import why_unready


def readyz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - a view gets its request
    """200 ``ready`` if each declared scheme will have IDs in a moment, else 503 with the reason.

    The declaration ``default`` counts if there is no other one.
    """
    named = [each for name, each in declarations().items() if name != DEFAULT]
    why = why_unready(*(each.generator() for each in named or [declarations()[DEFAULT]]))
    return HttpResponse(
        f"{why or 'ready'}\n",
        status=503 if why else 200,
        content_type="text/plain; charset=utf-8",
        headers={"Cache-Control": "no-store"},
    )
