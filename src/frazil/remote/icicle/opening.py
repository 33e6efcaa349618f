"""What opens ``icicle:`` URLs (see ``frazil.inputs.kinds``)."""

from frazil.generator.generator import AsyncGenerator, Generator
from frazil.generator.request import Request
from frazil.remote.icicle.config import configure_icicle
from frazil.remote.icicle.generator import IcicleGenerator

__all__ = ["open_async_generator", "open_generator"]


def open_generator(request: Request) -> Generator:
    """A generator of a request. Raises ConfigError; contacts nothing."""
    return IcicleGenerator(configure_icicle(request))


def open_async_generator(request: Request) -> AsyncGenerator:
    """The same to be awaited."""
    from frazil.remote.icicle.async_generator import AsyncIcicle

    return AsyncIcicle(configure_icicle(request))
