"""Opens ``http:`` URLs (see ``frazil.inputs.kinds``)."""

from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import Request
from frazil.remote.http.config import configure_service
from frazil.remote.http.generator import ServiceGenerator
from frazil.system.imports import load


def open_generator(request: Request) -> Generator:
    """Open a generator. Raises ConfigError; contacts nothing."""
    load("encodings.idna")  # the first call would import it: see frazil.system.imports
    return ServiceGenerator(configure_service(request))


def open_async_generator(request: Request) -> AsyncGenerator:
    """Open a generator for asyncio. If httpx is missing, this fails and not the first ID."""
    from frazil.remote.http.async_generator import AsyncService, the_driver

    the_driver()
    return AsyncService(configure_service(request))
