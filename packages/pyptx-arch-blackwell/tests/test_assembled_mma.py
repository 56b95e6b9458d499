"""ptxas assembles the kernels of `mma_bench`: the simulator executes programs that a device can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tools.shares import at_most

from pyptx_ir.toolchain import assemble

from . import test_block_scaled_mma as scaled
from . import test_simulated_mma as dense
from . import test_sparse_mma as sparse
from .mma_bench import Bench
from .tensor_kernels import kernel_text

if TYPE_CHECKING:
    from .mma_reference import Product

pytestmark = [pytest.mark.scaled, pytest.mark.ptxas]

LISTS = (
    dense.cases,
    sparse.sparse_cases,
    sparse.stationary_cases,
    scaled.cases,
    scaled.packed_cases,
    scaled.deep_cases,
)


SOME = [case for cases in LISTS for case in at_most([*cases()][::9], 4)]


@pytest.mark.parametrize("case", SOME, ids=str)
def test_ptxas_takes_the_kernel_of_a_product(case: Product) -> None:
    bench, target = Bench(case.blocks), "sm_103a" if case.depth == 96 else "sm_100a"
    bench.add(case)
    text = kernel_text(bench.issue.text, columns=bench.memory.shape[-1], blocks=case.blocks, size=4096, target=target)
    assert assemble(text, target).cubin[:4] == b"\x7fELF"
