"""Property L8: each mistake raises one error, of the right class, at the user's line, and changes no other kernel."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.errors import PyptxError

from .bad_inputs import BAD_INPUTS, HEADER, BadInput
from .gallery import load

if TYPE_CHECKING:
    from pathlib import Path

MARK = "# <-"


def failure_of(case: BadInput, path: Path) -> BaseException:
    """Run a case's program from its own file and return the error that it raises."""
    source = HEADER + case.source
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    with pytest.raises((PyptxError, AttributeError)) as caught:
        exec(compile(source, str(path), "exec"), {"__name__": "user_program"})  # noqa: S102 - the user's program
    return caught.value


@pytest.mark.parametrize("case", BAD_INPUTS, ids=[case.title for case in BAD_INPUTS])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_mistake_gives_its_error_at_the_users_line(case: BadInput, tmp_path: Path) -> None:
    healthy = load("ampere/vector_add").vector_add
    before = healthy.ptx(N=100)
    path = tmp_path / "user_program.py"
    error = failure_of(case, path)

    assert case.error in {cls.__name__ for cls in type(error).__mro__}, f"{type(error).__name__}: {error}"
    text = str(error)
    for word in case.words:
        assert word in text
    (line,) = [number for number, row in enumerate(path.read_text().splitlines(), 1) if MARK in row]
    assert f"user_program.py:{line}" in text, text
    assert "^" in text
    assert healthy.ptx(N=100) == before


def test_there_are_at_least_forty_mistakes_and_no_two_alike() -> None:
    assert len({case.title for case in BAD_INPUTS}) == len(BAD_INPUTS) >= 40
