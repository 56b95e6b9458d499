"""`from_cute`: launches of kernels from the MLIR of the CuTe DSL, which is written by hand here.

`nox -s foreign` tests the output of the compiler itself.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Memory, Uninitialized, WithDescriptor, run
from pyptx_sim.errors import LaunchError
from pyptx_sim.readers import from_cute

# Kernel: each CTA computes one row of y = x · f + n.
PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry rows(
    .param .align 8 .b8 x[24], .param .align 1 .b8 atom[1], .param .align 8 .b8 y[8], .param .f32 f, .param .u64 n
) .reqntid 32
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f32 %f<5>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; ld.param.u32 %r3, [x+12]; setp.ge.u32 %p, %r2, %r3;
    @%p bra END;
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [x+16]; ld.param.u64 %rd3, [y]; cvt.u64.u32 %rd4, %r1;
    cvt.u64.u32 %rd5, %r2; mad.lo.u64 %rd6, %rd4, %rd2, %rd5; shl.b64 %rd6, %rd6, 2; add.u64 %rd6, %rd1, %rd6;
    mad.wide.u32 %rd7, %r1, 96, %rd3; mad.wide.u32 %rd7, %r2, 4, %rd7;
    ld.global.f32 %f1, [%rd6]; ld.param.f32 %f2, [f]; ld.param.u64 %rd4, [n]; cvt.rn.f32.s64 %f3, %rd4;
    fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%rd7], %f4;
END:
    ret;
}
"""
FACTS = "cluster_launch = false, cooperative_launch = false, exact_block_dim = array<i64: 32, 1, 1>"
MLIR = f"""
!dense = !cute.memref<f32, gmem, align<16>, "(5,24):(24,1)">
!open = !cute.memref<f32, gmem, align<16>, "(?,?{{div=4}}):(?{{i64 div=4}},1)">
!product = !cute.tiled_mma<!cute_nvgpu.sm90.mma<64x8x16, elem_type = (f16, f16, f32)>, atom = <"(1,1):(0,0)">>
    cuda.kernel @rows(%arg0: !open, %arg1: !product, %arg2: !cute.layout<"(8,(4,1)):(1,(8,0))">, %arg3: !dense, %arg4: f32, %arg5: i64) attributes {{facts = {{{FACTS}}}, gpu.kernel}} {{
"""  # noqa: E501 - one line, as printed by the compiler
LOWERED = """
    %1 = llvm.mlir.constant(5 : i32) : i32
    %2 = llvm.mlir.constant(4096 : i64) : i64
    %3 = llvm.getelementptr %0[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(array<3 x i32>, array<3 x i32>, i64, ptr, ptr, i32)>
    llvm.store %2, %3 : i64, !llvm.ptr
    %4 = llvm.mlir.addressof @kernels_rows : !llvm.ptr
    %5 = llvm.call @_cudaLaunchKernelEx(%0, %4, %6) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
"""  # noqa: E501 - as printed by the compiler


def compiled(mlir: str = MLIR, lowered: str = LOWERED) -> Any:
    return SimpleNamespace(artifacts=SimpleNamespace(PTX=PTX, MLIR=mlir), ir_module=lowered)


X = np.random.default_rng(0).standard_normal((5, 24), np.float32)


def test_a_tensor_is_an_array_with_what_the_compiler_did_not_know() -> None:
    wide = np.zeros((5, 40), np.float32)
    wide[:, :24] = X
    y = np.zeros((5, 24), np.float32)
    launch = from_cute(compiled(), 5, [wide[:, :24], y, 2.0, 3])
    assert (launch.entry, launch.grid, launch.shared_bytes, launch.cooperative) == ("rows", 5, 4096, False)
    assert [type(each) for each in launch.args[0]][1:] == [np.int32, np.int32, np.int64]
    assert launch.args[0][1:] == (5, 24, 40)
    assert launch.args[1] == bytes(1)
    assert run(PTX, launch).clean
    np.testing.assert_array_equal(y, X * 2 + 3)


def test_arrays_may_have_addresses_or_hold_nothing_yet() -> None:
    memory = Memory()
    x, y = memory.put(X.copy(), "x"), Uninitialized(np.zeros((5, 24), np.float32))
    assert run(PTX, from_cute(compiled(), 5, [x, y, 1.0, 0])).clean
    np.testing.assert_array_equal(y.array, X)


def test_what_is_no_plain_matrix_is_said_member_by_member() -> None:
    nested = MLIR.replace('"(?,?{div=4}):(?{i64 div=4},1)"', '"((4,?),?):((1,?),?{i64})"')
    members = (X, np.int32(5), np.int32(24), np.int64(24))
    y = np.zeros((5, 24), np.float32)
    assert run(PTX, from_cute(compiled(nested), 5, [members, y, 1.0, 0])).clean
    np.testing.assert_array_equal(y, X)
    with pytest.raises(LaunchError, match="cannot derive"):
        from_cute(compiled(nested), 5, [X, y, 1.0, 0])


def test_what_the_compiler_knows_of_the_launch_is_taken() -> None:
    known = MLIR.replace(
        FACTS, f"{FACTS}, exact_grid_dim = array<i64: 5, 2, 1>, exact_cluster_dim = array<i64: 1, 2, 1>"
    )
    known = known.replace("cooperative_launch = false", "cooperative_launch = true")
    launch = from_cute(compiled(known), None, [X, X, 1.0, 0])
    assert (launch.grid, launch.cluster, launch.cooperative) == ((5, 2, 1), (1, 2, 1), True)
    assert from_cute(compiled(known), (3, 1), [X, X, 1.0, 0]).grid == (3, 1)
    with pytest.raises(LaunchError, match="depends on arguments of the host function"):
        from_cute(compiled(), None, [X, X, 1.0, 0])


def test_a_copy_by_tma_takes_a_described_array_and_a_half_its_bits() -> None:
    atom = '!cute_nvgpu.atom.non_exec_tiled_tma_load<sm_90, f16, copy_bits = 65536, tma_gbasis = <"(64,64):(1@1,1@0)">>'
    described = MLIR.replace("%arg0: !open", f"%arg0: {atom} {{cute_nvgpu.grid_constant}}").replace(
        "%arg4: f32", "%arg4: f16"
    )
    mapped = WithDescriptor(X, object())
    launch = from_cute(compiled(described), 1, [mapped, X, 1.5, 0])
    assert launch.args[0] is mapped
    assert launch.args[3] == np.float16(1.5).tobytes()


@pytest.mark.parametrize(
    ("mlir", "lowered", "args", "message"),
    [
        ("", LOWERED, [X, X, 1.0, 0], "no compiler artifacts besides PTX"),
        (MLIR.replace("!cute.tiled_mma", "!cute.unheard_of"), LOWERED, [X, X, 1.0, 0], "cannot read 1 of 5 parameters"),
        (MLIR + MLIR.replace("@rows", "@again"), LOWERED, [X, X, 1.0, 0], "expected one kernel, got 2"),
        (MLIR, "", [X, X, 1.0, 0], "cannot read the shared memory size"),
        (MLIR, LOWERED, [X, X, 1.0], "rows: expected 4 arguments, got 3"),
        (MLIR, LOWERED, [X, X, 1.0, 0, 0], "rows: expected 4 arguments, got 5"),
        (MLIR, LOWERED, [X, X[:4], 1.0, 0], "got 4"),
        (MLIR, LOWERED, [X, np.zeros((5, 48), np.float32)[:, ::2], 1.0, 0], "got 48"),
        (MLIR, LOWERED, [X, "x", 1.0, 0], "expected an array .*, got str"),
    ],
)
def test_what_does_not_fit_is_an_error(mlir: str, lowered: str, args: list[Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        from_cute(compiled(mlir, lowered), 5, args)


def test_one_of_several_kernels_is_named() -> None:
    both = MLIR + MLIR.replace("@rows", "@again")
    assert from_cute(compiled(both), 5, [X, X, 1.0, 0], entry="rows").entry == "rows"
    with pytest.raises(LaunchError, match="unknown kernel 'none'"):
        from_cute(compiled(both), 5, [X, X, 1.0, 0], entry="none")
