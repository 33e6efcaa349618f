"""``manage.py frazil``: make IDs, and read them, as the settings declare them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from frazil.django.checks import to_set_up
from frazil.django.declared import DEFAULT, Declaration, declarations, declared
from frazil.errors import FrazilError
from frazil.generator.request import OpenRequest
from frazil.initialising import HowToBegin, initialise
from frazil.layout.drawing import draw


class Command(BaseCommand):
    """Subcommands: init, mint, inspect, schemes."""

    help = "Make and read IDs, as FRAZIL in the settings declares them."

    def add_arguments(self, parser: Any) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        init = actions.add_parser("init", help="set up each namespace that is not; may be repeated")
        init.add_argument("--new", action="store_true", help="they were never used, so do not wait")
        mint = actions.add_parser("mint", help="print new IDs")
        mint.add_argument("scheme", nargs="?", default=DEFAULT, help='a name in FRAZIL["schemes"]')
        mint.add_argument("-n", type=int, default=1, help="how many (default: 1)")
        inspect = actions.add_parser("inspect", help="show the contents of an ID")
        inspect.add_argument("id", help="a text, or a number as in the table")
        actions.add_parser("schemes", help="list what the settings declare")

    def handle(self, *_: object, action: str, **options: Any) -> None:
        """Run one subcommand. Raises CommandError with the reason."""
        try:
            getattr(self, f"_{action}")(options)
        except FrazilError as error:
            raise CommandError(str(error)) from error

    def _init(self, options: dict[str, Any]) -> None:
        new = options["new"]

        def begin(request: OpenRequest) -> bool:
            if new and request.connect().look() is not None:
                return False
            return initialise(request, HowToBegin(new=new, if_missing=not new))

        requests = list(to_set_up())
        with ThreadPoolExecutor(max_workers=len(requests) or 1) as pool:  # they wait together
            for request, made in zip(requests, pool.map(begin, requests), strict=True):
                state = "is set up" if made else "exists"
                self.stdout.write(f"namespace {request.namespace!r} of {request.url} {state}")

    def _mint(self, options: dict[str, Any]) -> None:
        declaration = declared(options["scheme"])
        for n in declaration.generator().take(options["n"]):
            self.stdout.write(declaration.format(n))

    def _inspect(self, options: dict[str, Any]) -> None:
        given = options["id"]
        found = [(each, n) for each in declarations().values() for n in _readings(each, given)]
        if not found:
            names = ", ".join(declarations())
            raise CommandError(f"{given!r} is not an ID of the declared schemes: {names}")
        for declaration, n in found:
            scheme = declaration.scheme
            self.stdout.write(f"scheme  {declaration.name} ({scheme.name})")
            self.stdout.write(f"text    {scheme.format(n)}")
            self.stdout.write(f"number  {n}")
            inner = n if scheme.shuffle is None else scheme.shuffle.invert(n)
            self.stdout.write(f"\n{draw(scheme.layout, inner)}")

    def _schemes(self, _: dict[str, Any]) -> None:
        for declaration in declarations().values():
            request, scheme = declaration.request(), declaration.scheme
            look = f"{scheme.prefix} in {scheme.encoding}" if scheme.prefix else scheme.encoding
            self.stdout.write(
                f"{declaration.name}: {scheme.name}, {look}, namespace {request.namespace}, "
                f"{request.url}"
            )


def _readings(declaration: Declaration, given: str) -> list[int]:
    """The number of that text or, without such a text, the number itself."""
    for value in (given, int(given) if given.isascii() and given.isdigit() else None):
        try:
            return [declaration.scheme.read(value)]
        except FrazilError:
            continue
    return []
