"""Asynchronous copies by several threads, with one instruction, to one address. Manual: "cp.async"."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute

SETUP = ".shared .align 16 .b8 s[4096];\nmov.u32 %r3, s;\n"
WAIT = "cp.async.wait_all;\n"
FROM_OWN = "mul.wide.u32 %rd2, %r0, 4; add.s64 %rd3, %rd0, %rd2;\ncp.async.ca.shared.global [%r3], [%rd3], 4;\n"
FROM_ONE = "cp.async.ca.shared.global [%r3], [%rd0], 4;\n"
APART = "mad.lo.u32 %r4, %r0, 4, %r3;\n" + FROM_OWN.replace("[%r3]", "[%r4]")


def rules(body: str, block: int, seed: int) -> set[str]:
    found = execute(SETUP + body + WAIT, np.arange(256, dtype=np.uint32), block=block, seed=seed).findings
    return {finding.rule for finding in found}


@pytest.mark.parametrize("seed", range(3))
def test_those_of_different_bytes_race(seed: int) -> None:
    assert rules(FROM_OWN, 32, seed) == {"lane-race"}
    assert rules(FROM_OWN.replace("%r0, 4;", "%r1, 4;").replace("mul", "shr.u32 %r1, %r0, 5;\nmul"), 64, seed) & {
        "shared-race",
        "read-before-wait",
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("body", [FROM_ONE, APART])
def test_those_of_the_same_bytes_or_to_many_places_do_not(body: str, seed: int) -> None:
    assert rules(body, 32, seed) == set()
