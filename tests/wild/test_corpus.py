"""Round-trip properties L1 and L2 of every module of `corpus/`, with its own formatting and with default formatting.

By default a few modules of each compiler are checked, with `PYPTX_KERNELS=all` all of them.
"""

from __future__ import annotations

import pytest
from tests.corpus_modules import BY_HAND, CORPUS, FOLDERS
from tools.shares import at_most

from .laws import judge

pytestmark = pytest.mark.scaled

MOST = 6  # tested modules of each compiler of the corpus, by default; all handmade modules are tested


@pytest.mark.parametrize("folder", FOLDERS)
def test_both_laws_hold_on_the_corpus(folder: str) -> None:
    paths = sorted((CORPUS / folder).glob("*.ptx"))
    some = paths if folder == BY_HAND else at_most(paths, MOST, 2)
    outcomes = {path.name: judge(path.read_bytes(), path.name) for path in some}
    assert {name: outcome.fault for name, outcome in outcomes.items() if outcome.fault} == {}
