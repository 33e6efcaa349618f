"""What MkDocs calls while it builds the site (see mkdocs.yml).

Files are added before the build and links are adapted page by page. After the build, the pages are
written once more as plain Markdown for programs.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # MkDocs imports this file alone

from release.website import assets, charts, command, http, layouts, llms, pages, timeline, tree

__all__ = ["on_files", "on_page_markdown", "on_post_build", "on_pre_build"]

_BOOST_OF_DECISIONS = 0.2
"""Most readers want to use frazil: other pages come before a decision with the same words."""

_TEXTS: dict[str, llms.Text] = {}


def on_pre_build(config: Any) -> None:  # noqa: ARG001 - the name is MkDocs's
    """Forget the pages of an earlier build of this process."""
    _TEXTS.clear()


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages and the files of the repository that are pages of the site."""
    from mkdocs.structure.files import File

    generated: dict[str, str | bytes] = {
        "reference/command.md": command.page(),
        "reference/http.md": http.page(),
        "reference/layouts.md": layouts.page(),
        **{page: pages.text_of(source) for source, page in pages.FROM_ROOT.items()},
        **assets.FILES,
    }
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Draw the pictures of a page, and adapt its links to the site."""
    path = page.file.src_uri
    if path.startswith("decisions/"):
        page.meta["search"] = {"boost": _BOOST_OF_DECISIONS}
    if path == "README.md":
        page.meta["hide"] = ["navigation", "toc"]  # it uses the whole width
    if path == pages.FROM_ROOT["BENCHMARKS.md"]:
        markdown = charts.with_charts(markdown)
    markdown = timeline.with_pictures(layouts.with_drawings(markdown))
    markdown = tree.with_pictures(markdown)
    markdown = pages.adapted(markdown, path)
    _TEXTS[path] = llms.Text(page.title, page.file.url, markdown)
    return markdown


def on_post_build(config: Any) -> None:
    """Write llms.txt, llms-full.txt and each page as Markdown."""
    llms.write(Path(config.site_dir), config.nav, _TEXTS, config.site_description)
