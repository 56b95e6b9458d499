"""Check the built site: its links, and that its search finds each term of the glossary (`check_glossary.py`).

python -m tools.check_site [FOLDER]      (`site` by default; prints each fault, and exits with 1 if there is one)

Every href, src and fragment must lead to a file and an anchor of that file. Links to other hosts are not followed.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools import check_glossary

ROOT = Path(__file__).resolve().parents[1]
LINKS = {"href", "src", "poster", "data"}
EVERYWHERE = {"", "top"}  # URL fragments that lead to the start of every page, by the HTML standard


class Page(HTMLParser):
    """The anchors and the links of one HTML file, each link with its line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[int, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the anchors and the link addresses of one HTML element."""
        self.anchors.update(value for name, value in attrs if value and (name == "id" or (tag, name) == ("a", "name")))
        self.links += [(self.getpos()[0], value) for name, value in attrs if name in LINKS and value is not None]


@cache
def read(path: Path) -> Page:
    """Return the parsed page."""
    return Page(path.read_text(encoding="utf-8"))


def target(site: Path, page: Path, path: str) -> Path:
    """Return the file that a link's path leads to from a page."""
    start = site if path.startswith("/") else page.parent
    found = (start / unquote(path).lstrip("/")).resolve() if path else page
    return found / "index.html" if found.is_dir() else found


def fault(site: Path, page: Path, link: str) -> str | None:
    """Return why a link is broken, or None."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    found = target(site, page, parts.path)
    if not (found.is_file() and found.is_relative_to(site)):
        return "no such file in the site"
    fragment = unquote(parts.fragment)
    if fragment in EVERYWHERE or found.suffix != ".html" or fragment in read(found).anchors:
        return None
    return "no such anchor"


def broken(site: Path) -> list[str]:
    """Return a line for each broken link of the site."""
    site = site.resolve()
    return [
        f"{page.relative_to(site).as_posix()}:{line}: {link}: {wrong}"
        for page in sorted(site.rglob("*.html"))
        for line, link in read(page).links
        if (wrong := fault(site, page, link))
    ]


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    if not (folder / "index.html").is_file():
        sys.exit(f"{folder} has no index.html: build the site first, nox -s docs")
    faults = [*broken(folder), *check_glossary.faults(ROOT / "docs", folder)]
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(f"{len(faults)} broken links or terms that the search does not find" if faults else 0)
