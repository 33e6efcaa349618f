"""The style sheet, the script and the icon of the site.

Chromium's, Firefox's and Safari's own fonts are used, as on the console; nothing is loaded from
another host.
"""

from pathlib import Path

from website.pages import ROOT

__all__ = ["FILES"]

_HERE = Path(__file__).resolve().parent / "assets"

FILES: dict[str, str | bytes] = {
    "assets/icon.svg": (ROOT / "src/frazil/service/console/icon.svg").read_bytes(),
    "assets/site.css": (_HERE / "site.css").read_bytes(),
    "assets/regions.js": (_HERE / "regions.js").read_bytes(),
}
"""By their path in the site."""
