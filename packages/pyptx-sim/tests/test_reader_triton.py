"""`from_triton`: launches of kernels from Triton's metadata.

If Triton is installed, it compiles the kernels of `triton_kernels.py`. Otherwise the tests use recorded metadata, and
entries with the same parameters that are written by hand.
"""

from __future__ import annotations

from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyptx_sim import Memory, Uninitialized, run
from pyptx_sim.errors import LaunchError
from pyptx_sim.readers import from_triton

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
SCALED = f"""{HEAD}
.visible .entry scaled(
    .param .u64 .ptr .global .align 1 p0, .param .u64 .ptr .global .align 1 p1, .param .u32 n, .param .f32 alpha,
    .param .u64 .ptr .global .align 1 p4, .param .u64 .ptr .global .align 1 p5
) .reqntid 32
{{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %rd<6>; .reg .f32 %f<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 32, %r2; ld.param.u32 %r1, [n];
    setp.ge.s32 %p, %r3, %r1;
    @%p bra END;
    ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; mul.wide.s32 %rd3, %r3, 4; add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd2, %rd3; ld.global.f32 %f1, [%rd4]; ld.param.f32 %f2, [alpha]; mul.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;
END:
    ret;
}}
"""
COPIED = f"""{HEAD}
.visible .entry copied(
    .param .align 64 .b8 p0[128], .param .u32 p1, .param .u32 p2, .param .u64 p3, .param .u64 p4,
    .param .u64 .ptr .global .align 1 p5, .param .u32 p6,
    .param .u64 .ptr .global .align 1 p7, .param .u64 .ptr .global .align 1 p8
) .reqntid 32
{{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<5>; .extern .shared .align 128 .b8 tile[];
    mov.u32 %r1, %tid.x; mov.u32 %r2, tile; add.u32 %r3, %r2, 256; ld.param.u32 %r4, [p6]; mov.u32 %r5, 0;
    mov.b64 %rd1, p0; cvta.param.u64 %rd1, %rd1; setp.ne.u32 %p, %r1, 0;
    @%p bra WAIT;
    mbarrier.init.shared.b64 [%r3], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 256;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1, {{%r5, %r4}}], [%r3];
WAIT:
    bar.warp.sync -1;
AGAIN:
    mbarrier.try_wait.parity.shared.b64 %p, [%r3], 0;
    @!%p bra AGAIN;
    ld.param.u64 %rd2, [p5]; mad.wide.u32 %rd3, %r1, 8, %rd2; mad.lo.u32 %r6, %r1, 8, %r2;
    ld.shared.v2.b32 {{%r7, %r8}}, [%r6]; st.global.v2.b32 [%rd3], {{%r7, %r8}};
    ret;
}}
"""
SAID = {
    "launch_cooperative_grid": False, "launch_pdl": False, "num_ctas": 1, "num_warps": 1, "global_scratch_align": 1,
    "global_scratch_size": 0, "profile_scratch_align": 1, "profile_scratch_size": 0, "tensordesc_meta": [],
}  # fmt: skip
TILE = {"swizzle": 1, "elem_size": 4, "elem_type": 7, "block_size": [8, 8], "fp4_padded": False, "is_im2col": False}
RECORDED: dict[str, tuple[str, dict[str, str], dict[str, Any]]] = {
    "scaled": (
        SCALED, {"x": "*fp32", "out": "*fp32", "n": "i32", "alpha": "fp32", "size": "constexpr"},
        {**SAID, "name": "scaled", "shared": 0},
    ),
    "copied": (
        COPIED, {"x": "tensordesc<fp32[8, 8]>", "out": "*fp32", "row": "i32", "size": "constexpr"},
        {**SAID, "name": "copied", "shared": 264, "tensordesc_meta": [{**TILE, "swizzle": 0}]},
    ),
}  # fmt: skip


def recorded(name: str, **changed: Any) -> Any:
    """Return Triton's recorded metadata of a kernel, with some values changed."""
    text, signature, said = RECORDED[name]
    metadata, source = SimpleNamespace(**{**said, **changed}), SimpleNamespace(signature=signature)
    return SimpleNamespace(asm={"ptx": text}, metadata=metadata, src=source)


def kernel(name: str) -> Any:
    """Return a kernel that Triton compiles now, or, if Triton is not installed, the recorded kernel."""
    if find_spec("triton") is None:
        return recorded(name)
    from .triton_kernels import compiled

    return compiled(name)


@pytest.mark.parametrize("place", [np.asarray, lambda array: Memory().put(array)], ids=["array", "DeviceArray"])
def test_arguments_stand_in_front_of_what_triton_adds(place: Any) -> None:
    x = np.arange(100, dtype=np.float32)
    made, out = kernel("scaled"), np.zeros(100, np.float32)
    memory = Memory()
    given = [x, out] if place is np.asarray else [memory.put(x), memory.put(out)]
    launch = from_triton(made, 4, [*given, 90, 2.5])
    assert (launch.entry, launch.grid, launch.block, launch.cluster) == ("scaled", (4, 1, 1), 32, (1, 1, 1))
    assert run(made.asm["ptx"], launch).findings == ()
    assert out.tolist() == [2.5 * number if number < 90 else 0 for number in range(100)]


@pytest.mark.hopper
def test_an_array_is_described_for_a_descriptor_of_the_host() -> None:
    x = np.arange(240, dtype=np.float32).reshape(30, 8)
    made, out = kernel("copied"), np.zeros((8, 8), np.float32)
    result = run(made.asm["ptx"], from_triton(made, (1,), [x, out, 26]))
    assert [finding.rule for finding in result.findings if finding.rule != "missing-proxy-fence"] == []
    assert out.tolist() == [*x[26:].tolist(), *np.zeros((4, 8)).tolist()]


@pytest.mark.hopper
@pytest.mark.torch
def test_a_descriptor_of_triton_and_tensors_of_torch_are_taken() -> None:
    import torch

    x, out = torch.arange(480, dtype=torch.float32).reshape(30, 16), torch.zeros(8, 8)
    described = SimpleNamespace(
        base=x, shape=[30, 8], strides=[16, 1], block_shape=[8, 8], padding="nan", round_f32_to_tf32=False
    )
    made = recorded("copied")
    run(made.asm["ptx"], from_triton(made, 1, [described, out, 26]))
    assert out[:4].tolist() == x[26:, :8].tolist()
    assert out[4:].isnan().all()


def test_a_grid_of_no_programs_runs_nothing_for_empty_arrays() -> None:
    made = recorded("scaled", global_scratch_size=384)
    empty, x = np.zeros(0, np.float32), np.zeros(4, np.float32)
    assert run(made.asm["ptx"], from_triton(made, (0,), [empty, empty, 0, 1.0])).statistics.ctas == 0
    with pytest.raises(LaunchError, match="grid must be"):
        run(made.asm["ptx"], from_triton(made, 0, [x, x, 4, 1.0]))


@pytest.mark.hopper
def test_a_descriptor_of_a_view_has_the_strides_of_the_view() -> None:
    x = np.arange(480, dtype=np.float32).reshape(30, 16)
    made, out = kernel("copied"), np.zeros((8, 8), np.float32)
    run(made.asm["ptx"], from_triton(made, (1,), [x[:, 4:12], out, 2]))
    assert out.tolist() == x[2:10, 4:12].tolist()


def test_scratch_memory_is_for_all_blocks_and_holds_nothing_yet() -> None:
    made = recorded("scaled", num_ctas=2, num_warps=4, global_scratch_size=384, launch_pdl=True, shared=100)
    x = np.zeros(64, np.float32)
    launch = from_triton(made, (2, 3), [x, x, 64, 1.0])
    assert (launch.grid, launch.cluster, launch.block, launch.shared_bytes) == ((4, 3, 1), (2, 1, 1), 128, 100)
    assert (launch.cooperative, launch.programmatic_dependent) == (False, True)
    *_, scratch, profile = launch.args
    assert isinstance(scratch, Uninitialized)
    assert (scratch.array.nbytes, profile) == (384 * 12, 0)
    assert launch.names == ["x", "out", "n", "alpha", "global_scratch", "profile_scratch"]


@pytest.mark.parametrize(("flags", "scratch"), [(2, 2), (1, 2), (0, 1)], ids=["3.9", "3.6", "3.4"])
def test_a_descriptor_that_the_device_makes_is_passed_in_parts(flags: int, scratch: int) -> None:
    """The descriptor's parameters are base, shape, strides, flags, shape and strides again, and scratch memory."""
    made, x = recorded("copied", tensordesc_meta=[]), np.zeros((30, 8), np.float32)
    parts = "".join(f".param .u64 q{number}, " for number in range(4))
    more = "".join(f".param .u8 flag{number}, " for number in range(flags)).removesuffix(", ")
    parts = parts + more if more else parts.removesuffix(", ")
    entry = made.asm["ptx"].replace(".param .align 64 .b8 p0[128]", f".param .u64 q, {parts}")
    if scratch == 1:
        entry = entry.replace(", .param .u64 .ptr .global .align 1 p8", "")
        del made.metadata.profile_scratch_size
    made.asm["ptx"] = entry
    launch = from_triton(made, 1, [x, x, 0])
    assert launch.args[0] is x
    assert list(launch.args[1 : 9 + flags]) == [30, 8, 8, 1, *[0] * flags, 30, 8, 8, 1]
    assert launch.names[-scratch:] == ["global_scratch", "profile_scratch"][:scratch]


def test_early_releases_choose_the_dimensions_of_a_cluster_and_pass_no_scratch_memory() -> None:
    made = recorded("scaled", num_ctas=4, cluster_dims=[2, 2, 1])
    made.asm["ptx"] = made.asm["ptx"].replace(
        ",\n    .param .u64 .ptr .global .align 1 p4, .param .u64 .ptr .global .align 1 p5", ""
    )
    del made.metadata.global_scratch_size, made.metadata.profile_scratch_size
    x = np.zeros(64, np.float32)
    launch = from_triton(made, (2, 3), [x, x, 64, 1.0])
    assert (launch.grid, launch.cluster) == ((4, 6, 1), (2, 2, 1))
    assert launch.names == ["x", "out", "n", "alpha"]


@pytest.mark.parametrize(
    ("changed", "args", "message"),
    [
        ({}, [1, 2], "expected 3 arguments, got 2(.|\n)*x: tensordesc(.|\n)*row: i32"),
        ({}, [7, 0, 0], "x must be an array or a TensorDescriptor, got int"),
        (
            {"tensordesc_meta": [{**TILE, "is_im2col": True}]},
            [np.zeros((8, 8), np.float32), 0, 0],
            "unsupported descriptor",
        ),
        (
            {"tensordesc_meta": []},
            [np.zeros((8, 8), np.float32), 0, 0],
            "expected 0 to 2 parameters after its 13 arguments, got -4",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(changed: dict[str, Any], args: list[Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        from_triton(recorded("copied", **changed), 1, args)


def test_halves_are_passed_as_bits_and_tuples_one_by_one() -> None:
    made = recorded("scaled")
    made.src.signature = {"x": ("*fp32", "constexpr", "fp16"), "b": "bf16", "n": "i32", "size": "constexpr"}
    x = np.zeros(8, np.float32)
    launch = from_triton(made, 1, [(x, 1.5), -2.0, 7])
    assert list(launch.args[1:4]) == [b"\x00\x3e", b"\x00\xc0", 7]
    assert launch.names[:3] == ["x.0", "x.2", "b"]
