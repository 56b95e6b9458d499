"""Every page is in the documentation's index and in a menu, and every link between pages has a target."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from .pages import PAGES, ROOT, name, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
OWN = sorted(page for page in (*DOCS.glob("*.md"), *DOCS.glob("internals/*.md")) if page != DOCS / "index.md")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
WORDS = re.compile(r"[^\w\- ]")


def menu() -> set[str]:
    """Return the pages in the documentation site's menu."""

    def pages(entry: Any) -> Iterator[str]:
        match entry:
            case str():
                yield entry
            case list():
                for each in entry:
                    yield from pages(each)
            case _:
                yield from pages(list(entry.values()))

    return set(pages(tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page: explicit ones, and anchors that the site generator derives from headings."""
    text = re.sub(r"(?ms)^```.*?^```", "", text_of(page))
    headings = re.findall(r"(?m)^#+ (.+?)(?: \{ ?#([\w-]+) ?\})?$", text)
    made = [given or re.sub(r"[\s-]+", "-", WORDS.sub("", title.lower())).strip("-") for title, given in headings]
    return {*made, *re.findall(r'id="([\w-]+)"', text)}


def test_every_page_is_in_a_menu() -> None:
    wanted = {page.relative_to(DOCS).as_posix() for page in (*OWN, *DOCS.glob("api/*.md"), *DOCS.glob("results/*.md"))}
    assert wanted <= menu()
    assert all((DOCS / page).is_file() for page in menu())


def test_every_page_is_in_the_index() -> None:
    linked = {target for target, _ in LINK.findall((DOCS / "index.md").read_text(encoding="utf-8"))}
    assert {page.relative_to(DOCS).as_posix() for page in OWN} <= linked


@pytest.mark.parametrize("page", PAGES, ids=[name(page) for page in PAGES])
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    text = re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    for target, anchor in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{target}#{anchor}"
