"""The console: the web page at ``/``.

It is plain HTML, CSS and ES modules without a build step: the reviewed files are those that run.
It loads nothing from other hosts, so it also works without internet access. All data come from
``/v1``, with the token that the user entered.

A content security policy (``_POLICY``) allows only what the page needs. The modules insert text as
text nodes, never as HTML, and the policy enforces it: pasted text and host names cannot run code.

Files are read once, at the start. Their ETag is a hash of the content, and browsers revalidate on
each request, so the page always matches the version of the service.
"""

from frazil.service.console.pages import Page, pages

__all__ = ["Page", "pages"]
