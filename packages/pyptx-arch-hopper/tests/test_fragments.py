"""Elements that each thread of a warpgroup holds, by the manual's formulas ("Register Fragments").

For each number of columns, a different sample of the 128 threads is checked; more with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

from itertools import product

import pytest
from tools.shares import full

from pyptx_arch_hopper.mma import forms
from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b1, bf16, e4m3, f16, f32, f64, from_name, s8, s32, tf32, u32
from pyptx_ir.fragments import fragment_of
from pyptx_ir.isa.kinds.fragments import registers_of
from pyptx_ir.isa.matrix_rows import BITS

pytestmark = pytest.mark.scaled

STEP = full(5, default=15)
SUMS = sorted({(form.d, columns) for form in forms() for columns in form.columns})


@pytest.mark.parametrize(("kind", "columns"), SUMS)
def test_sums_lie_as_the_manual_says(kind: str, columns: int) -> None:
    shape = (64, columns, 16)
    held = ptx.wgmma.fragment(shape=shape, operand="d", dtype=from_name(kind))
    for thread, i in product(range(columns // 8 % STEP, 128, STEP), range(columns // 2)):
        assert held.row(thread, i) == thread // 32 * 16 + thread % 32 // 4 + i // 2 % 2 * 8
        assert held.column(thread, i) == i // 4 * 8 + thread % 4 * 2 + i % 2
    registers = registers_of(f"m64n{columns}k16", "mn", BITS[kind], warps=4)
    assert held.packed * registers == columns // 2 <= held.count
    assert held.registers >= registers


@pytest.mark.parametrize("dtype", [f16, bf16, tf32, e4m3, s8, b1], ids=str)
def test_factors_lie_as_the_manual_says(dtype: object) -> None:
    depth = 256 // dtype.bits  # type: ignore[attr-defined]  # a type
    beside = 32 // dtype.bits  # type: ignore[attr-defined]  # a type
    held = ptx.wgmma.fragment(shape=(64, 8, depth), operand="a", dtype=dtype)
    assert held.registers == 4
    for thread, i in product(range(128), range(4 * beside)):
        register, inside = divmod(i, beside)
        assert held.row(thread, i) == thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8
        assert held.column(thread, i) == thread % 4 * beside + inside + register // 2 * 4 * beside


def test_of_a_sparse_factor_the_stored_half_is_held() -> None:
    held = ptx.wgmma.fragment(shape=(64, 8, 32), operand="a", dtype=bf16, sparse=True)
    assert held == ptx.wgmma.fragment(shape=(64, 8, 16), operand="a", dtype=bf16)


def test_its_fragments_are_found_by_the_name_of_the_instruction() -> None:
    shape = (64, 24, 32)
    assert fragment_of("wgmma", "m64n24k32", "d", "f32") is ptx.wgmma.fragment(shape=shape, operand="d", dtype=f32)
    assert fragment_of("wgmma", "m64n24k32", "a", "f16") is ptx.wgmma.fragment(shape=shape, operand="a", dtype=f16)
    half = ptx.wgmma.fragment(shape=shape, operand="a", dtype=f16, sparse=True)
    assert fragment_of("wgmma.sp", "m64n24k32", "a", "f16") is half
    with pytest.raises(ValueError, match="got 'b'"):
        fragment_of("wgmma", "m64n24k32", "b", "f16")


def test_a_thread_in_a_register_is_computed_with() -> None:
    def k() -> None:
        held = ptx.wgmma.fragment(shape=(64, 64, 16), operand="d", dtype=f32)
        thread = reg.scalar(u32)
        held.row(thread, 2)
        held.column(thread, 5)

    text = kernel(k, arch="sm_90a").ptx()
    assert {"shr.u32", "and.b32", "shl.b32", "add.u32"} <= {
        line.split()[0] for line in text.splitlines() if line.strip()
    }


def test_what_is_no_fragment_is_refused() -> None:
    with pytest.raises(OperandError, match="invalid operand 'd' of f64"):
        ptx.wgmma.fragment(shape=(64, 8, 16), operand="d", dtype=f64)
    with pytest.raises(OperandError, match="invalid operand 'b' of s32"):
        ptx.wgmma.fragment(shape=(64, 8, 16), operand="b", dtype=s32)  # type: ignore[arg-type]  # under test
