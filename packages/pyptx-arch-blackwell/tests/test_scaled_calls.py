"""`ptx.mma.sync` emits MMAs of 4-, 6- and 8-bit floats, plain and block-scaled, and ptxas accepts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b32, e2m1, e3m2, e4m3, f16, f32, ue4m3, ue8m0
from pyptx_ir.toolchain import assemble

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET, VERSION = "sm_120a", (9, 0)  # newest PTX version of ptxas 13.0
NARROW = {"kind": "f8f6f4", "dtype_a": e4m3, "dtype_b": e3m2}
# By modifiers that follow the shape in an mma.sync opcode: keyword arguments of `ptx.mma.sync`, and K of the shape.
PRODUCTS: dict[str, tuple[dict[str, Any], int]] = {
    "kind::f8f6f4.f32.e4m3.e3m2.f32": (NARROW, 32),
    "kind::mxf8f6f4.block_scale.f32.e2m1.e3m2.f32.ue8m0": (
        {"kind": "mxf8f6f4", "dtype_a": e2m1, "dtype_b": e3m2, "dtype_scale": ue8m0},
        32,
    ),
    "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e3m2.f32.ue8m0": (
        NARROW | {"kind": "mxf8f6f4", "dtype_scale": ue8m0, "scale_vec": "1X"},
        32,
    ),
    "kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0": (
        {"kind": "mxf4", "dtype_a": e2m1, "dtype_b": e2m1, "dtype_scale": ue8m0},
        64,
    ),
    "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3": (
        {"kind": "mxf4nvf4", "dtype_a": e2m1, "dtype_b": e2m1, "dtype_scale": ue4m3, "scale_vec": "4X"},
        64,
    ),
}


def traced(body: Callable[[], object]) -> str:
    def k() -> None:
        body()
        ptx.ret()

    return kernel(k, arch=TARGET, version=VERSION, block=(32, 1, 1)).ptx()


def product(words: dict[str, Any], depth: int, **changes: Any) -> None:
    """Emit an `mma.sync` with shape m16n8k`depth` and f32 accumulators."""
    scales = {"scale_a": reg.scalar(b32), "scale_b": reg.scalar(b32)} if "dtype_scale" in words else {}
    given = {
        "shape": (16, 8, depth),
        "dtype_d": f32,
        "dtype_c": f32,
        "d": reg.array(f32, 4),
        "a": reg.array(b32, 4),
        "b": reg.array(b32, 2),
        "c": reg.array(f32, 4),
    }
    ptx.mma.sync(**(given | words | scales | changes))


@pytest.mark.ptxas
@pytest.mark.parametrize("opcode", PRODUCTS)
def test_a_product_has_the_words_of_its_row_and_ptxas_takes_it(opcode: str) -> None:
    words, depth = PRODUCTS[opcode]
    text = traced(lambda: product(words, depth))
    assert f"mma.sync.aligned.m16n8k{depth}.row.col.{opcode} {{" in text
    assert text.count(", {0, 0}, ") == ("dtype_scale" in words)
    assemble(text, TARGET)


@pytest.mark.ptxas
def test_a_sparse_product_of_scaled_blocks_has_twice_the_depth() -> None:
    def body() -> None:
        ptx.mma.sp.sync(
            shape=(16, 8, 64),
            dtype_d=f32,
            dtype_a=e4m3,
            dtype_b=e2m1,
            dtype_c=f32,
            d=reg.array(f32, 4),
            a=reg.array(b32, 4),
            b=reg.array(b32, 4),
            c=reg.array(f32, 4),
            metadata=reg.scalar(b32),
            kind="mxf8f6f4",
            dtype_scale=ue8m0,
            scale_a=(reg.scalar(b32), (1, 0)),
            scale_b=(reg.scalar(b32), (0, 2)),
        )

    text = traced(body)
    assert "m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0 {" in text
    assert "%r4, 0, %r5, {1, 0}, %r6, {0, 2};" in text
    assemble(text, TARGET)


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"kind": "mxf6"}, "invalid kind='mxf6'"),
    ({"kind": "mxf4"}, "invalid kind='mxf4'"),
    ({"dtype_a": f16}, "no form for f32.f16.e3m2.f32"),
    ({"shape": (16, 8, 64)}, "invalid shape='m16n8k64'"),
    ({"scale_vec": "1X"}, "no modifier 'scale_vec'"),
    ({"d": [0, 0]}, "d must have 4 registers, got 2"),
)


@pytest.mark.parametrize(("changes", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_no_row_has_is_refused_with_what_there_is(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(OperandError) as caught:
        traced(lambda: product(NARROW, 32, **changes))
    assert said in str(caught.value.message)
