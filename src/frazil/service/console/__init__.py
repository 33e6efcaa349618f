"""The console: what a browser shows at ``/``.

Plain HTML, CSS and ES modules, as they are written: nothing is built, so what was reviewed is what
runs, and nothing is loaded from elsewhere, so it works where there is no internet. The page holds
no figure of its own. Whatever it shows it asks of ``/v1``, with the token that it was given.

The browser is told to allow nothing that the page does not need (``_POLICY``): a text that somebody
pastes, or a host name in a claim, can be shown and cannot run. The modules put texts into the page
as text and never as HTML, and the policy holds them to it.

Files are read once, when the service starts. Their tag is a digest of what is in them, and a
browser has to ask for it each time, so the page and the service it speaks to are of one version.
"""

from frazil.service.console.pages import Page, pages

__all__ = ["Page", "pages"]
