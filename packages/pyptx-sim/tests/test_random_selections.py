"""Races of two CTAs that store selections are notes only if an independent reference finds no input with other values.

A fifth of PYPTX_FUZZ is the number of kernels; `nox -s fuzz` sets it.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest

from .ptx_text import execute, module
from .random_selections import STORES, random_kernel

COUNT = int(os.environ.get("PYPTX_FUZZ", "75")) // 5


@pytest.mark.long
def test_copies_are_a_note_only_if_no_input_gives_different_values() -> None:
    severities: Counter[tuple[str, bool]] = Counter()
    wrong: list[str] = []
    for seed in range(COUNT):
        kernel = random_kernel(seed)
        lines = [at for at, line in enumerate(module(kernel.text).splitlines(), 1) if line.startswith("st.")]
        findings = execute(kernel.text, np.zeros(STORES + 6, np.uint32), grid=2, block=1).findings
        found = {each.line: each.severity for each in findings}
        assert list(found) == lines
        severities.update(zip(found.values(), kernel.differs, strict=True))
        wrong += [f"seed {seed}, line {each}" for each, differs in zip(lines, kernel.differs, strict=True)
                  if differs and found[each] == "note"]  # fmt: skip
    # The proof is by random inputs: it may miss values that differ for a rare conjunction of conditions only.
    assert len(wrong) <= severities["error", True] // 500, wrong
    assert severities["error", True] > COUNT
    assert severities["note", False] > COUNT
