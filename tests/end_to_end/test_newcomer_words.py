"""A beginner's spelling raises an error at its line that names the right spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .newcomer_words import NEWCOMER_WORDS
from .test_bad_inputs import MARK, failure_of

if TYPE_CHECKING:
    from pathlib import Path

    from .bad_inputs import BadInput


@pytest.mark.parametrize("case", NEWCOMER_WORDS, ids=[case.title for case in NEWCOMER_WORDS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_habit_is_told_what_to_write(case: BadInput, tmp_path: Path) -> None:
    path = tmp_path / "user_program.py"
    error = failure_of(case, path)

    text = str(error)
    assert type(error).__name__ == case.error, text
    for word in case.words:
        assert word in text
    (line,) = [number for number, row in enumerate(path.read_text().splitlines(), 1) if MARK in row]
    assert f"user_program.py:{line}" in text, text
    assert "^" in text
    assert "help: " in text or case.error == "ProgramError", text


def test_no_two_habits_are_alike() -> None:
    assert len({case.title for case in NEWCOMER_WORDS}) == len(NEWCOMER_WORDS)
