"""Laws L1 and L2 on every module of `corpus/`, with its own spelling and with every kept spelling dropped.

Every third module of each compiler is judged by default, and each with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .laws import judge

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
BY_HAND = "handmade"
SHARE = 1 if os.environ.get("PYPTX_KERNELS") == "all" else 6  # one module in so many, but for those made by people
FOLDERS = sorted({path.parent.name for path in CORPUS.glob("*/*.ptx")})


@pytest.mark.parametrize("folder", FOLDERS)
def test_both_laws_hold_on_the_corpus(folder: str) -> None:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    some = paths if folder == BY_HAND else paths[2 % SHARE :: SHARE]
    outcomes = {path.name: judge(path.read_bytes(), path.name) for path in some}
    assert {name: outcome.fault for name, outcome in outcomes.items() if outcome.fault} == {}
