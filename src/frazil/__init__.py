"""frazil: distributed unique IDs.

    import frazil

    ids = frazil.open()   # SQLite on this host, the default scheme
    ids()                 # one int
    ids.take(10_000)      # many, in one step
    ids.text()            # as text

A **layout** cuts the number. A **claim** owns a region of the cut. A **generator** walks its own
region and meets nobody. A **codec** shows the number. No two IDs of a namespace are ever equal,
whatever clocks, pauses, forks, crashes and stores do; docs/explain/why-unique.md says how, and what
is outside that promise.
"""

import frazil.machine  # noqa: F401 - first: it decides whether the walk is the compiled one

# isort: split
from frazil import errors
from frazil.codec import Codec
from frazil.errors import FrazilError
from frazil.generator import Generator
from frazil.generator import open_generator as open  # noqa: A004 - frazil.open
from frazil.layout import Layout
from frazil.minting import mint
from frazil.schemes import Scheme, scheme
from frazil.shuffle import Shuffle
from frazil.walk import COMPILED

__all__ = [
    "COMPILED",
    "Codec",
    "FrazilError",
    "Generator",
    "Layout",
    "Scheme",
    "Shuffle",
    "__version__",
    "errors",
    "mint",
    "open",
    "scheme",
]

__version__ = "0.1.0"
