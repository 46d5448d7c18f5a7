"""What mkdocs does for the manual beyond its own: generated pages, the logo, and no files that nobody needs."""

from __future__ import annotations

import re
from pathlib import Path

from library_reference import library_reference
from markdown.extensions.toc import slugify
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from terminal_reference import terminal_reference

_ROOT = Path(__file__).parents[1]
_LOGO = _ROOT / "resources" / "icons" / "halo.svg"
# Where a page leaves room for what is generated.
_GENERATED = {
    "<!-- every command -->": terminal_reference,
    "<!-- every public name -->": library_reference,
}
_TITLE = re.compile(r"^# (?:\d+\. )?(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
_FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_UNUSED = ("**/*.map", "assets/javascripts/lunr", "assets/javascripts/workers", "sitemap.xml*", "404.html")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies elsewhere in the repository, and the pages that list others."""
    files.append(File.generated(config, "assets/halo.svg", abs_src_path=str(_LOGO)))
    files.append(File.generated(config, "decisions.md", content=_decisions(Path(config.docs_dir))))
    files.append(File.generated(config, "topics.md", content=_topics(Path(config.docs_dir))))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs'
    """Put the references where a page leaves room for them."""
    return _with_references(markdown)


def _with_references(markdown: str) -> str:
    for mark, reference in _GENERATED.items():
        if mark in markdown:
            markdown = markdown.replace(mark, reference())
    return markdown


def _decisions(docs: Path) -> str:
    """Return the list of decisions, each with its page."""
    lines = [
        "# Decisions",
        "",
        "Why the program is built as it is. Each page has one decision and its reasons.",
        "",
    ]
    for path in sorted((docs / "adr").glob("*.md")):
        title = _TITLE.search(path.read_text(encoding="utf-8"))
        lines.append(f"- [{title[1] if title else path.stem}](adr/{path.name})")
    return "\n".join(lines)


def _topics(docs: Path) -> str:
    """Return every heading of the manual in alphabetical order, each with its place."""
    topics: dict[str, set[str]] = {}
    for path in sorted(docs.glob("*.md")):
        text = _with_references(path.read_text(encoding="utf-8"))
        title = _TITLE.search(text)
        for heading in _HEADING.findall(_FENCED.sub("", text)):
            words = heading.replace("`", "")
            anchor = slugify(words, "-")
            link = f"- [{words}]({path.name}#{anchor}) · {title[1] if title else path.stem}"
            topics.setdefault(words[0].upper(), set()).add(link)
    lines = [
        "# Index",
        "",
        "Every heading of the manual. Your browser finds words on this page with Ctrl+F.",
        "",
    ]
    for letter in sorted(topics):
        lines += [f"## {letter}", "", *sorted(topics[letter], key=str.casefold), ""]
    return "\n".join(lines)


def on_post_build(config: MkDocsConfig) -> None:
    """Remove what pages opened as files never load."""
    site = Path(config.site_dir)
    for pattern in _UNUSED:
        for path in sorted(site.glob(pattern), reverse=True):
            _remove(path)
    text = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    for picture in (site / "screenshots").iterdir():
        if picture.name not in text:
            picture.unlink()


def _remove(path: Path) -> None:
    if path.is_dir():
        for inner in path.iterdir():
            _remove(inner)
        path.rmdir()
    else:
        path.unlink()
