"""Opens ``icicle:`` URLs (see ``frazil.inputs.kinds``)."""

from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import Request
from frazil.redis_link.access import driver
from frazil.remote.icicle.config import configure_icicle
from frazil.remote.icicle.generator import IcicleGenerator
from frazil.remote.icicle.script import icicle_script


def open_generator(request: Request) -> Generator:
    """Open a generator. Raises ConfigError; contacts nothing."""
    driver()  # if it is missing, this fails here and not at the first ID
    return IcicleGenerator(configure_icicle(request))


def open_async_generator(request: Request) -> AsyncGenerator:
    """Open a generator for asyncio."""
    from frazil.remote.icicle.async_generator import AsyncIcicle

    driver()
    icicle_script()  # read here, and not in the event loop
    return AsyncIcicle(configure_icicle(request))
