"""Each knob (function that emits exact PTX) is used on an executed page, is typed, and reports misuse at its line."""

from __future__ import annotations

import functools
import linecache
from typing import TYPE_CHECKING

import pytest
from tests.docs.markdown import blocks
from tests.docs.pages import PAGES, ROOT, not_run

from pyptx_ir.errors import PyptxError

from .calls import used
from .misuses import HEADER, MISUSES, Misuse
from .table import KNOBS, alternatives

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_cover

ASKED = alternatives()
MARK = "# <-"


@functools.cache
def in_pages() -> frozenset[tuple[str, str]]:
    """Return the knobs (functions that emit exact PTX) and parameters that the executed blocks of all pages use."""
    found: set[tuple[str, str]] = set()
    for page in PAGES:
        code = [each.text for each in blocks(page.read_text(encoding="utf-8")) if each.language == "python"]
        found |= used("\n".join(each for each in code if each.splitlines()[0] not in not_run(page)))
    return frozenset(found)


@functools.cache
def in_typed_code() -> frozenset[tuple[str, str]]:
    """Return the knobs (functions that emit exact PTX) and parameters that the modules of tests/typing use.

    mypy and pyright check these modules.
    """
    sources = sorted((ROOT / "tests" / "typing").glob("*.py"))
    return frozenset[tuple[str, str]]().union(*[used(path.read_text(encoding="utf-8")) for path in sources])


@pytest.mark.parametrize(("word", "knobs"), ASKED, ids=[f"{knobs[0]}-{word}" for word, knobs in ASKED])
def test_a_page_that_runs_shows_the_knob(word: str, knobs: tuple[str, ...]) -> None:
    assert any((knob, word) in in_pages() for knob in knobs)


@pytest.mark.parametrize(("word", "knobs"), ASKED, ids=[f"{knobs[0]}-{word}" for word, knobs in ASKED])
def test_type_checkers_see_the_knob(word: str, knobs: tuple[str, ...]) -> None:
    assert any((knob, word) in in_typed_code() for knob in knobs)


@pytest.mark.parametrize("misuse", MISUSES, ids=[f"{case.told}-{number}" for number, case in enumerate(MISUSES)])
def test_a_misuse_is_an_error_at_its_line(misuse: Misuse, tmp_path: Path) -> None:
    path = tmp_path / "user_program.py"
    path.write_text(HEADER + misuse.source, encoding="utf-8")
    linecache.checkcache(str(path))
    with pytest.raises(PyptxError) as caught:
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "user_program"})  # noqa: S102 - the user's program
    told = str(caught.value)
    assert misuse.told in {each.__name__ for each in type(caught.value).__mro__}, told
    (line,) = [number for number, row in enumerate(path.read_text().splitlines(), 1) if MARK in row]
    assert f"user_program.py:{line}:" in told, told
    assert "help: " in told, told
    for word in misuse.words:
        assert word in told


def test_every_knob_is_misused() -> None:
    misused = {knob for misuse in MISUSES for knob, _ in used(misuse.source)}
    assert misused >= KNOBS.keys()
