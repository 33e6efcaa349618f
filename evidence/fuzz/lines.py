"""The input of ``frazil inspect``: any line of a log, or pasted text."""

import json

from click.testing import CliRunner

import frazil
from evidence.fuzz.codecs import slow_number
from frazil.cli import main
from frazil.reading.guess import Fit
from frazil.reading.search import Search
from frazil.schemes.codec import Codec

__all__ = ["check_command", "check_line"]

_NOW_US = 1_796_000_000_000_000
_SEARCHES = [
    Search(frazil.scheme(), _NOW_US),
    Search(frazil.scheme(), _NOW_US, guess=True),
    Search(frazil.scheme("tsid"), _NOW_US, named=True),
    Search(frazil.scheme("globalid", prefix="order_"), _NOW_US, named=True, strict=True),
]
_RUN = CliRunner()


def check_line(text: str) -> None:
    """Each finding is in the line: its number and fields, or an ID of another system.

    Without a finding there is a reason.
    """
    for search in _SEARCHES:
        found = search.find(text)
        for finding in found:
            assert finding.fits or finding.foreign
            for fit in finding.fits:
                _check_fit(fit, text)
        assert found or search.explain(text)


def check_command(text: str) -> None:
    """The command succeeds or reports an error, and its JSON output is valid."""
    if "\0" in text:  # arguments of a process cannot contain one
        return
    for flags in ([], ["--json"]):
        done = _RUN.invoke(main, ["inspect", *flags, "--", text])
        assert done.exit_code in {0, 1, 2}
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    for each in json.loads(done.stdout) if done.exit_code == 0 else ():
        assert each["text"] in text


def _check_fit(fit: Fit, text: str) -> None:
    reading, scheme = fit.reading, fit.scheme
    assert reading.text in text
    assert reading.number == _slowly(fit)
    values = scheme.unpack(reading.number)
    assert values == fit.values
    assert scheme.pack(**dict(values)) == reading.number


def _slowly(fit: Fit) -> int | None:
    """The number of a reading, also in the forms of hex and signed numbers of other programs."""
    reading, bits = fit.reading, fit.scheme.bits
    body = reading.text.removeprefix(reading.prefix)
    if body.startswith("-") and bits == 64 and -(2**63) <= int(body) < 0:
        return int(body) + 2**64
    codec = Codec(reading.encoding, bits, check=reading.check)
    if reading.encoding == "hex":
        body = body.lower()
        if body.startswith("0x"):
            body = body[2:].rjust(codec.width or 0, "0")
    return slow_number(codec, body)
