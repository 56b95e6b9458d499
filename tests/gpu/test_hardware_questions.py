"""Record hardware behavior that the manual leaves open, under the name of the question (see golden.py).

Only words that the manual defines are asserted. For a question about timing, the record is whether any CTA was right
and whether any was wrong; the number of wrong CTAs is recorded separately.
"""

from __future__ import annotations

import numpy as np
import pytest

from .driver import device
from .questions import CHAINS, QUESTIONS, Chain, Question

pytestmark = [pytest.mark.gpu, pytest.mark.hardware]

RUNS = 8
NATIVE = device().capability == (9, 0)  # the device runs sm_90a, the target of the questions
ASKED = [each for each in QUESTIONS.values() if NATIVE or not each.target.endswith("a")]


@pytest.mark.parametrize("question", ASKED, ids=lambda question: question.name)
def test_what_is_defined_is_so_on_hardware(question: Question, truth: dict[str, np.ndarray]) -> None:
    runs = RUNS if question.once else 2
    results = [
        device().run(question.text, "probe", question.grid, question.block, question.inputs, [question.empty()])[0]
        for _ in range(runs)
    ]
    truth[question.name] = question.recorded(results)
    if question.once:
        wrong = [np.flatnonzero((each != question.expected).reshape(question.grid, -1).any(axis=1)) for each in results]
        truth[f"{question.name} (hardware)"] = np.array([len(blocks) for blocks in wrong], np.uint32)
    for result in results:
        assert (result == question.expected)[question.defined].all()


@pytest.mark.parametrize("chain", CHAINS.values(), ids=lambda chain: chain.name)
def test_a_chain_of_dependent_grids_reads_what_it_reads(chain: Chain, truth: dict[str, np.ndarray]) -> None:
    flag, read = np.zeros(1, np.uint32), np.full(1, 7, np.uint32)
    seen = [int(device().run_chain(chain.text, chain.entries, [flag, read])[1][0]) for _ in range(RUNS)]
    truth[chain.name] = np.array([0 in seen, 1 in seen], np.uint8)
    assert set(seen) <= {0, 1}
