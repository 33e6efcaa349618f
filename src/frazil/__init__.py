"""frazil: distributed unique IDs.

    import frazil

    ids = frazil.open()   # SQLite on this host, the default scheme
    ids()                 # one int
    ids.take(10_000)      # many, in one step
    ids.text()            # as text
    ids.stream()          # without end, for a loop

A **layout** divides the number into fields. A **claim** owns a region of their values. A
**generator** makes IDs of its own region only. A **codec** writes the number as text. No two IDs of
a namespace are ever equal, whatever clocks, pauses, forks, crashes and stores do;
docs/explain/why-unique.md explains how, and the limits of that promise.

``import frazil`` is cheap: the first use of a name below loads its module.
"""

import _thread
import sys

TYPE_CHECKING = False  # as in typing, which is slow to load
if TYPE_CHECKING:
    from frazil import aio, errors, metrics, readiness
    from frazil.backfilling import declare_past_of as declare_past
    from frazil.backfilling import open_history as history
    from frazil.errors import FrazilError
    from frazil.generator.generator import Generator
    from frazil.generator.history import History
    from frazil.initialising import initialise_ids as init
    from frazil.layout.layout import Layout
    from frazil.minting import mint_ids as mint
    from frazil.opening import open_ids as open  # noqa: A004 - frazil.open
    from frazil.schemes.codec import Codec
    from frazil.schemes.scheme import Scheme, scheme
    from frazil.schemes.shuffle import Shuffle
    from frazil.walk.walk import COMPILED

__all__ = [
    "COMPILED",
    "Codec",
    "FrazilError",
    "Generator",
    "History",
    "Layout",
    "Scheme",
    "Shuffle",
    "__version__",
    "aio",
    "declare_past",
    "errors",
    "history",
    "init",
    "metrics",
    "mint",
    "open",
    "readiness",
    "scheme",
]

__version__ = "0.1.0"

_HOMES = {
    "COMPILED": "walk.walk:COMPILED",
    "Codec": "schemes.codec:Codec",
    "FrazilError": "errors:FrazilError",
    "Generator": "generator.generator:Generator",
    "History": "generator.history:History",
    "Layout": "layout.layout:Layout",
    "Scheme": "schemes.scheme:Scheme",
    "Shuffle": "schemes.shuffle:Shuffle",
    "aio": "aio:",
    "declare_past": "backfilling:declare_past_of",
    "errors": "errors:",
    "history": "backfilling:open_history",
    "init": "initialising:initialise_ids",
    "metrics": "metrics:",
    "mint": "minting:mint_ids",
    "open": "opening:open_ids",
    "readiness": "readiness:",
    "scheme": "schemes.scheme:scheme",
}


_loading: set[int] = set()  # the threads that import a module below


def __getattr__(name: str) -> object:
    """The value of that name, from its module. Runs once for each name.

    Raises TryLater in a signal handler that interrupted the import of a module.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'frazil' has no attribute {name!r}")
    if _thread.get_ident() in _loading:  # a second import here would make a second module
        raise _unfinished(name)
    try:
        _loading.add(_thread.get_ident())
        from importlib import import_module

        import_module("frazil.errors")  # before all others, so that a handler has TryLater
        home, _, thing = _HOMES[name].partition(":")
        module = import_module(f"frazil.{home}")
        value = globals()[name] = getattr(module, thing) if thing else module
    finally:
        _loading.discard(_thread.get_ident())
    return value


def _unfinished(name: str) -> Exception:
    """The error for a signal handler that interrupted an import of frazil."""
    kind = getattr(sys.modules.get("frazil.errors"), "TryLater", ImportError)
    error: Exception = kind(
        f"frazil.{name} is not loaded yet: this signal handler interrupted an import of frazil; "
        "call it again after the handler has returned, or open the generator before you set the "
        "handler"
    )
    return error


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
