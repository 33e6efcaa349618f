"""Opens ``http:`` URLs (see ``frazil.inputs.kinds``)."""

from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import Request
from frazil.remote.http.calls import the_driver
from frazil.remote.http.config import configure_service
from frazil.remote.http.generator import ServiceGenerator

__all__ = ["open_async_generator", "open_generator"]


def open_generator(request: Request) -> Generator:
    """Open a generator. Raises ConfigError; contacts nothing."""
    the_driver()  # if it is missing, this fails here and not at the first ID
    return ServiceGenerator(configure_service(request))


def open_async_generator(request: Request) -> AsyncGenerator:
    """Open a generator for asyncio."""
    from frazil.remote.http.async_generator import AsyncService

    the_driver(awaited=True)
    return AsyncService(configure_service(request))
