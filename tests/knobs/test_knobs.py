"""Each knob has an example in an executed page, is known to type checkers, and its misuse is an error at its line."""

from __future__ import annotations

import functools

import pytest
from tests.docs.markdown import blocks
from tests.docs.pages import PAGES, ROOT, not_run

from .calls import used
from .table import alternatives

ASKED = alternatives()


@functools.cache
def in_pages() -> frozenset[tuple[str, str]]:
    """Return what the executed blocks of all pages use."""
    found: set[tuple[str, str]] = set()
    for page in PAGES:
        code = [each.text for each in blocks(page.read_text(encoding="utf-8")) if each.language == "python"]
        found |= used("\n".join(each for each in code if each.splitlines()[0] not in not_run(page)))
    return frozenset(found)


@functools.cache
def in_typed_code() -> frozenset[tuple[str, str]]:
    """Return what the modules use that mypy and pyright hold."""
    sources = sorted((ROOT / "tests" / "typing").glob("*.py"))
    return frozenset[tuple[str, str]]().union(*[used(path.read_text(encoding="utf-8")) for path in sources])


@pytest.mark.parametrize(("word", "knobs"), ASKED, ids=[f"{knobs[0]}-{word}" for word, knobs in ASKED])
def test_a_page_that_runs_shows_the_knob(word: str, knobs: tuple[str, ...]) -> None:
    assert any((knob, word) in in_pages() for knob in knobs)


@pytest.mark.parametrize(("word", "knobs"), ASKED, ids=[f"{knobs[0]}-{word}" for word, knobs in ASKED])
def test_type_checkers_see_the_knob(word: str, knobs: tuple[str, ...]) -> None:
    assert any((knob, word) in in_typed_code() for knob in knobs)
