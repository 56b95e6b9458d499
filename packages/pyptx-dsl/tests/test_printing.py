"""`ptx.printf` checks its format while tracing, and emits what CUDA's `printf` compiles to; `ptx.global_id`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b64, bf16, f16, f32, f64, pred, s16, s32, s64, u8, u16, u32, u64
from pyptx_ir.isa.modules import check_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.types import PtxType

TYPES = (u8, u16, u32, u64, s16, s32, s64, b64, f16, bf16, f32, f64, pred)


def traced(emit: Callable[[], object]) -> str:
    @kernel(arch="sm_90a")
    def k() -> None:
        emit()
        ptx.ret()

    return k.ptx()


def of_type(dtype: PtxType) -> Reg:
    return reg.scalar(dtype)


@pytest.mark.parametrize(
    ("directive", "taken"),
    [
        ("%d", {"u8", "u16", "u32", "s16", "s32"}),
        ("%u", {"u8", "u16", "u32", "s16", "s32"}),
        ("%-8hx", {"u8", "u16", "u32", "s16", "s32"}),
        ("%lld", {"u8", "u16", "u32", "u64", "s16", "s32", "s64", "b64"}),
        ("%f", {"f16", "bf16", "f32", "f64"}),
        ("%+.3e", {"f16", "bf16", "f32", "f64"}),
        ("%p", {"u64", "s64", "b64"}),
        ("%s", {"u64", "s64", "b64"}),
        ("%c", {"u8", "u16", "u32", "s16", "s32"}),
    ],
)
def test_a_directive_takes_the_types_that_it_prints(directive: str, taken: set[str]) -> None:
    for dtype in TYPES:
        if dtype.name in taken:
            assert "call.uni" in traced(lambda dtype=dtype: ptx.printf(directive, of_type(dtype)))
        else:
            with pytest.raises(OperandError, match=rf"{dtype.name}"):
                traced(lambda dtype=dtype: ptx.printf(directive, of_type(dtype)))


@pytest.mark.parametrize(
    ("format", "values", "words"),
    [
        ("%d %d\n", (1,), "got 1 value"),
        ("plain\n", (1,), "got 1 value"),
        ("%n", (1,), "not a directive"),
        ("%*d", (1, 2), "not a directive"),
        ("100%", (), "not a directive"),
        ("%Lf", (1.0,), "not a directive"),
        ("%d", ("text",), "use %s for strings"),
        ("%d", (1.5,), "%f for floats"),
        ("%s", (3,), "a Python string"),
        ("a\0b", (), "NUL character"),
        ("%d" * 33, (1,) * 33, "the maximum is 32"),
        (3, (), "needs a format string"),
    ],
)
def test_a_format_that_does_not_go_with_its_values_is_refused(
    format: str,  # noqa: A002  C's name
    values: tuple[object, ...],
    words: str,
) -> None:
    with pytest.raises(OperandError) as caught:
        traced(lambda: ptx.printf(format, *values))
    assert words in str(caught.value)


def test_it_emits_what_its_docstring_counts_and_declares_each_thing_once() -> None:
    def emit() -> None:
        ptx.printf("%d %f\n", 1, 2.0)
        ptx.printf("%d %f\n", 1, 2.0)
        ptx.printf("end\n")

    text = traced(emit)
    assert check_text(text) == ()
    assert text.count(".extern .func") == 1
    assert text.count(".global .align 1 .b8") == 2
    lines = [line.strip() for line in text.partition("{\n")[2].splitlines()]
    executed = [line.split()[0] for line in lines if line.endswith(";") and not line.startswith(".")]
    values = ["st.local.b32", "st.local.f64", "mov.u64", "cvta.local.u64"]
    call = ["mov.u64", "cvta.global.u64", "st.param.b64", "st.param.b64", "call.uni"]
    assert executed == [*values, *call, *values, *call, *call, "ret;"]
    assert "{101, 110, 100, 10, 0}" in text


def test_the_global_id_is_three_copies_and_one_product() -> None:
    lines = [line.strip() for line in traced(lambda: ptx.global_id("y")).splitlines()]
    assert lines[lines.index("mov.u32 %r0, %ctaid.y;") :] == [
        "mov.u32 %r0, %ctaid.y;",
        "mov.u32 %r1, %ntid.y;",
        "mov.u32 %r2, %tid.y;",
        "mad.lo.u32 %r3, %r0, %r1, %r2;",
        "ret;",
        "}",
    ]
    with pytest.raises(OperandError, match="axis"):
        traced(lambda: ptx.global_id("w"))
