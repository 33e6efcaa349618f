"""The style sheet, the scripts and the icon of the site.

Chromium's, Firefox's and Safari's own fonts are used, as on the console; nothing is loaded from
another host.
"""

from pathlib import Path

from release.website.pages import ROOT

__all__ = ["FILES"]

_HERE = Path(__file__).resolve().parent / "assets"

FILES: dict[str, str | bytes] = {
    "assets/icon.svg": (ROOT / "src/frazil/service/console/icon.svg").read_bytes(),
    "assets/site.css": (_HERE / "site.css").read_bytes(),
    **{
        f"assets/{name}": (_HERE / name).read_bytes() for name in ("iframe-worker.js", "regions.js")
    },
}
"""By their path in the site."""
