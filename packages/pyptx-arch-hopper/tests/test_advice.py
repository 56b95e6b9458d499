"""Every ptxas remark about Hopper instructions has an explanation and a remedy."""

from __future__ import annotations

import pytest

from pyptx_arch_hopper.advice import ADVICE
from pyptx_dsl.inspect.advice import advice_on

SAID = (
    "'setmaxnreg' ignored; unable to determine register count at entry.",
    "wgmma.mma_async instructions are serialized due to insufficient register resources for the function 'k'",
    "wgmma.mma_async instructions are serialized due to non wgmma instructions reading accumulator registers of  a",
    "warpgroup.wait is injected in around line 22 by compiler to allow use of registers defined by GMMA",
    "warpgroup.arrive is injected in around line 20 by compiler to allow use of registers in GMMA in function 'k'",
)


@pytest.mark.parametrize("remark", SAID)
def test_advice_is_on_words_that_ptxas_really_has(remark: str) -> None:
    assert advice_on(remark) in ADVICE
