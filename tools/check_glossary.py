"""Check that the search index of the built site finds each term of the glossary on the page that its row links to.

`python -m tools.check_site` runs this check. The terms of a row are the bold words of its first column. The linked
page, or the linked section, must contain each of them as a word or as a plural, in upper or lower case.
"""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROW = re.compile(r"(?m)^\| \*\*(?P<terms>.+?)\*\* \|.*\|(?P<page>.*)\|$")
LINK = re.compile(r" \[.+\]\((?P<page>[\w/-]+)\.md(?P<section>#[\w-]+)?\) ")
TAG = re.compile(r"<[^>]+>")
SEPARATOR = re.compile(r"[^a-z0-9]+")  # the search index also splits words at `_`, `-`, `.` and `:`


def rows(glossary: str) -> Iterator[tuple[str, str]]:
    """Yield each term of a glossary, and its link's location in the search index (an empty string without a link)."""
    for row in ROW.finditer(glossary):
        link = LINK.fullmatch(row["page"])
        for term in re.split(r"[,;()]", row["terms"]):
            if term.strip():
                yield term.strip(" `"), f"{link['page']}/{link['section'] or ''}" if link else ""


def words(text: str) -> str:
    """Return the words of an HTML text in lower case, with a space before and after each word."""
    return f" {' '.join(SEPARATOR.split(unescape(TAG.sub('', text)).lower()))} "


def unfound(glossary: str, index: str) -> list[str]:
    """Return a line for each term that the linked page does not use, by the text of the site's `search.json`."""
    entries = [(entry["location"], words(f"{entry['title']} {entry['text']}")) for entry in json.loads(index)["items"]]
    return [
        f"glossary: {term}: {f'{location} does not use the term' if location else 'the row has no link to a page'}"
        for term, location in rows(glossary)
        if not any(
            re.search(rf" {words(term).strip()}(e?s)? ", text)
            for found, text in entries
            if location and (found == location or ("#" not in location and found.startswith(f"{location}#")))
        )
    ]


def faults(docs: Path, site: Path) -> list[str]:
    """Return a line for each glossary term in folder `pages` that the built site's search index does not find."""
    glossary, index = docs / "glossary.md", site / "search.json"
    return unfound(glossary.read_text(encoding="utf-8"), index.read_text(encoding="utf-8"))
