"""Registers: declaration and initialization of each type, names, arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import reg, types
from pyptx_dsl.errors import (
    DuplicateNameError,
    ForeignRegisterError,
    OperandError,
    RegisterIndexError,
    RegisterTypeError,
    UnknownTypeError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.tracing.trace import Trace, active
from pyptx_dsl.types import TYPES, b16, b32, bf16, e2m1x2, f16, f32, f64, from_name, pred, s32, tf32, u8, u32, u64

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel


def lines(build: Kernel) -> list[str]:
    return [line.strip() for line in build.ptx().splitlines() if line.startswith("\t")]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_has_a_register_and_a_zero(dtype: types.PtxType) -> None:
    @kernel
    def k() -> None:
        register = reg.scalar(dtype, init=None if dtype.move is None else 0)
        assert register.dtype is dtype

        active().emit(("ret",))

    first, *rest = lines(k)
    assert first == f".reg .{dtype.register} {dtype.prefix}<1>;"
    assert len(rest) == 1 + (dtype.move is not None)


@pytest.mark.parametrize(
    ("dtype", "init", "literal"),
    [
        *(
            (f32, 0, "0f00000000"),
            (f32, -0.0, "0f80000000"),
            (f32, 1e-6, "0f358637BD"),
            (f32, float("-inf"), "0fFF800000"),
        ),
        *((f64, 1, "0d3FF0000000000000"), (f16, 1.5, "0x3E00"), (f16, 1e9, "0x7C00"), (bf16, 1, "0x3F80")),
        *((bf16, 3.14159, "0x4049"), (bf16, float("nan"), "0x7FFF"), (tf32, 2, "0x40000000"), (u32, 7, "7")),
        *(
            (s32, -7, "-7"),
            (pred, 1, "1"),
            (pred, True, "1"),
            (b32, 0xFFFFFFFF, "4294967295"),
            (f32, 1e300, "0f7F800000"),
        ),
    ],
)
def test_initial_values_are_spelt_exactly(dtype: types.PtxType, init: object, literal: str) -> None:
    @kernel
    def k() -> None:
        reg.scalar(dtype, init=init)

    assert lines(k)[-1].endswith(f", {literal};")


@pytest.mark.parametrize(
    ("dtype", "init", "error"),
    [
        *((u32, 1.5, OperandError), (u32, 2**33, OperandError), (f32, [1], OperandError), (pred, 2, OperandError)),
        *((u32, "x", OperandError), (e2m1x2, 0, RegisterTypeError)),
    ],
)
def test_initial_values_that_do_not_fit_are_refused(dtype: types.PtxType, init: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        _initialized(dtype, init).ptx()


def _initialized(dtype: types.PtxType, init: object) -> Kernel:
    @kernel
    def k() -> None:
        reg.scalar(dtype, init=init)

    return k


def test_from_moves_registers_specials_numbers_and_symbols() -> None:
    @kernel
    def k() -> None:
        trace = active()
        tid = reg.from_(reg.SpecialReg("%tid.x", u32, trace), u32)
        reg.from_(tid, s32)
        reg.from_(5, u32)
        reg.from_("%laneid", u32)
        reg.from_(reg.scalar(f32, init=1), u32)
        reg.from_("symbol", u64)

    assert [line for line in lines(k) if line.startswith("mov")] == [
        *("mov.u32 %r0, %tid.x;", "mov.s32 %r1, %r0;", "mov.u32 %r2, 5;", "mov.u32 %r3, %laneid;"),
        *("mov.f32 %f0, 0f3F800000;", "mov.b32 %r4, %f0;", "mov.u64 %rd0, symbol;"),
    ]


def test_moving_between_widths_is_refused() -> None:
    @kernel
    def k() -> None:
        reg.from_(reg.scalar(u64, init=1), u32)

    with pytest.raises(RegisterTypeError, match=r"ptx\.cvt"):
        k.ptx()


def test_named_registers_have_their_own_declarations() -> None:
    @kernel
    def k() -> None:
        reg.scalar(u32, init=1, name="%total")
        reg.scalar(f32, name="plain")
        reg.array(f32, 4, name="%acc")
        reg.scalar(u32, init=1, name="%r3")
        reg.scalar(u32, init=1)
        reg.scalar(u32, init=1, name="%r1")

    assert lines(k)[:4] == [".reg .f32 %acc<4>;", ".reg .b32 %r<5>;", ".reg .b32 %total;", ".reg .f32 plain;"]
    assert lines(k)[4:] == ["mov.u32 %total, 1;", "mov.u32 %r3, 1;", "mov.u32 %r4, 1;", "mov.u32 %r1, 1;"]


@pytest.mark.parametrize(
    "body",
    [
        "reg.scalar(u32, name='%x'); reg.scalar(f32, name='%x')",
        "reg.scalar(u32); reg.scalar(u32, name='%r0')",
        "reg.array(u32, 4, name='%x'); reg.array(u32, 2, name='%x')",
        "reg.scalar(f32, name='%x3'); reg.array(f32, 8, name='%x')",
        "reg.scalar(u32); reg.scalar(f32, name='%r7')",
    ],
)
def test_a_name_is_given_once(body: str) -> None:
    @kernel
    def k() -> None:
        exec(body, {"reg": reg, "u32": u32, "f32": f32})  # noqa: S102  the text is above

    with pytest.raises(DuplicateNameError):
        k.ptx()


@pytest.mark.parametrize("name", ["", "%", "9x", "%a b", "%a;"])
def test_a_register_name_is_an_identifier(name: str) -> None:
    @kernel
    def k() -> None:
        reg.scalar(u32, name=name)

    with pytest.raises(OperandError):
        k.ptx()


def test_the_first_array_heads_the_bank_and_later_ones_have_their_own() -> None:
    @kernel
    def k() -> None:
        first, scalar, second = reg.array(f32, 4), reg.scalar(f32), reg.array(f32, 2)
        assert [each.name for each in first] == ["%f0", "%f1", "%f2", "%f3"]
        assert scalar.name == "%f4"
        assert [f"{second.base}{number}" for number in range(2)] == [each.name for each in second]
        scalar += 1

    assert lines(k)[:2] == [".reg .f32 %f<5>;", ".reg .f32 %farr0_<2>;"]


def test_arrays_behave_like_sequences() -> None:
    @kernel
    def k() -> None:
        array = reg.array(f32, 4)
        assert len(array) == array.count == 4
        assert [each.name for each in array[1:3]] == ["%f1", "%f2"]
        assert array[-1].name == "%f3"
        assert array[0] is array[0]
        assert [each.name for each in array.hw_order(reverse=True)] == ["%f3", "%f2", "%f1", "%f0"]
        assert len(array.hw_order()) == len(array.regs()) == 4
        array[0] = reg.scalar(f32, init=2)
        array[1] = 0
        array[2] += 1
        for index in (4, -5):
            with pytest.raises(RegisterIndexError):
                array[index]
        for wrong in ("a", 1.5, array[0]):
            with pytest.raises(OperandError):
                array[wrong]  # type: ignore[call-overload]  # a mistake on purpose

    assert lines(k)[1:] == [
        *(
            "mov.f32 %f4, 0f40000000;",
            "mov.f32 %f0, %f4;",
            "mov.f32 %f1, 0f00000000;",
            "add.rn.f32 %f2, %f2, 0f3F800000;",
        ),
    ]


@pytest.mark.parametrize("count", [0, -1, 1.5, "4"])
def test_an_array_has_a_positive_count(count: object) -> None:
    @kernel
    def k() -> None:
        reg.array(f32, count)  # type: ignore[arg-type]  # a mistake on purpose

    with pytest.raises(OperandError):
        k.ptx()


def test_fragments_and_automatic_registers() -> None:
    @kernel
    def k() -> None:
        assert reg.wgmma_frag(m=64, n=128, dtype=f32).count == 64
        assert reg.alloc(f32).name == "%af0"
        assert len(reg.alloc_array(u32, 3)) == 3
        with pytest.raises(OperandError):
            reg.wgmma_frag(m=3, n=5, dtype=f32)
        active().emit(("ret",))

    k.ptx()


def test_arrays_of_another_trace_are_refused() -> None:
    array = reg.RegArray("%f", 2, f32, Trace("elsewhere"))

    @kernel
    def k() -> None:
        active().emit(("ld", "global", "v2", "f32"), (array, "[%rd0]"))

    with pytest.raises(ForeignRegisterError, match="elsewhere"):
        k.ptx()


def test_types_are_found_by_name_and_pickle_to_themselves() -> None:
    import pickle

    assert from_name(".bf16") is bf16
    assert pickle.loads(pickle.dumps(u8)) is u8  # noqa: S301  our own pickle
    assert (f32.ptx, str(f16), b16.bits, u8.bytes) == (".f32", "f16", 16, 1)
    with pytest.raises(UnknownTypeError, match="u32"):
        from_name("u31")
