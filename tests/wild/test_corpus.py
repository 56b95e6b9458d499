"""Laws L1 and L2 on every module of `corpus/`, with its own spelling and with every kept spelling dropped.

A few modules of each compiler are judged by default, and each with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import pytest
from tests.corpus_modules import BY_HAND, CORPUS, FOLDERS
from tools.shares import at_most

from .laws import judge

pytestmark = pytest.mark.scaled

MOST = 6  # modules of a producer, by default, but for those made by people


@pytest.mark.parametrize("folder", FOLDERS)
def test_both_laws_hold_on_the_corpus(folder: str) -> None:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    some = paths if folder == BY_HAND else at_most(paths, MOST, 2)
    outcomes = {path.name: judge(path.read_bytes(), path.name) for path in some}
    assert {name: outcome.fault for name, outcome in outcomes.items() if outcome.fault} == {}
