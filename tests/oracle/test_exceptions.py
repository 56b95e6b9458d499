"""The documentation lists each reviewed difference between the instruction table and ptxas."""

from __future__ import annotations

from .exceptions import PAGE, written
from .report import chapter_reasons, stricter


def test_the_page_lists_every_difference_of_the_reviewed_lists() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run python -m tests.oracle.exceptions"
    assert {reason for reasons in chapter_reasons().values() for reason in reasons} == set(stricter().values())
