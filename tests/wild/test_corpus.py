"""Laws L1 and L2 on every module of `corpus/`, with its own spelling and with every kept spelling dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from .laws import judge

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
FOLDERS = sorted({path.parent.name for path in CORPUS.glob("*/*.ptx")})


@pytest.mark.parametrize("folder", FOLDERS)
def test_both_laws_hold_on_the_corpus(folder: str) -> None:
    outcomes = {path.name: judge(path.read_bytes(), path.name) for path in sorted((CORPUS / folder).glob("*.ptx"))}
    assert {name: outcome.fault for name, outcome in outcomes.items() if outcome.fault} == {}
