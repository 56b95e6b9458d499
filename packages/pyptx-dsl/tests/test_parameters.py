"""Loads of several kernel parameters in one call: their types, and their destination registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import OperandError, UnknownTypeError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b8, b32, f32, s32, u32, u64

if TYPE_CHECKING:
    from collections.abc import Callable


def instructions(text: str) -> list[str]:
    lines = [line.strip() for line in text.partition("{\n")[2].rpartition("}")[0].splitlines()]
    return [line for line in lines if line and line[0] != "." and line != "ret;"]


def test_several_parameters_are_loaded_by_the_types_that_the_kernel_declares() -> None:
    def k() -> None:
        count, scale, factor = ptx.params("n", "p", "x")
        assert (count.dtype, scale.dtype, factor.dtype) == (u32, u64, f32)
        chosen = reg.array(u32, 2)
        assert ptx.params("n", "x", into=chosen, bits=True) == (chosen[0], chosen[1])
        ptx.params("n", dtype=s32)

    raw = [("u32", "n"), ("u64", "p"), ("f32", "x"), ("b8.align64.array128", "map")]
    text = kernel(raw_params=raw)(k).ptx()
    assert instructions(text) == [
        *("ld.param.u32 %r0, [n];", "ld.param.u64 %rd0, [p];", "ld.param.f32 %f0, [x];"),
        *("ld.param.b32 %rarr0_0, [n];", "ld.param.b32 %rarr0_1, [x];", "ld.param.s32 %r1, [n];"),
    ]


def test_an_array_is_no_scalar_parameter() -> None:
    def k() -> None:
        ptx.params("map")

    with pytest.raises(OperandError, match=r"(?s)no scalar parameter 'map'.*scalars: n, p;"):
        kernel(raw_params=[("u32", "n"), ("b8.align64.array128", "map"), ("u64", "p")])(k).ptx()


@pytest.mark.parametrize("call", [lambda: ptx.param("u32", "n"), lambda: ptx.params("n", dtype="u32")])
def test_a_type_is_no_text(call: Callable[[], object]) -> None:
    def k() -> None:
        call()

    with pytest.raises(UnknownTypeError, match=r"pass a type of pyptx\.types"):
        kernel(raw_params=[("u32", "n")])(k).ptx()


def test_pointers_go_where_they_are_told_and_generic_ones_are_converted() -> None:
    def k() -> None:
        generic, pointers = [reg.scalar(u64), reg.scalar(u64)], [reg.scalar(u64), reg.scalar(u64)]
        assert ptx.global_ptrs("p", "q", into=pointers, generic=generic) == tuple(pointers)
        (again,) = ptx.global_ptrs(generic[0], into=[generic[1]])
        assert again is generic[1]
        ptx.global_ptrs("q", bits=True)

    text = kernel(raw_params=[("u64", "p"), ("u64", "q")])(k).ptx()
    assert instructions(text) == [
        *("ld.param.u64 %rd0, [p];", "cvta.to.global.u64 %rd2, %rd0;"),
        *("ld.param.u64 %rd1, [q];", "cvta.to.global.u64 %rd3, %rd1;", "cvta.to.global.u64 %rd1, %rd0;"),
        *("ld.param.b64 %rd4, [q];", "cvta.to.global.u64 %rd4, %rd4;"),
    ]


def test_functions_of_a_module_know_their_parameters_too() -> None:
    m = module(version=(8, 0), target="sm_90")

    @m.func("f", [u32, m.param("x", f32), m.param("bytes", b8, 16)], [m.param("out", b32)])
    def f(*names: str) -> None:
        r, x = reg.bank("%r", b32, 2), reg.bank("%f", f32, 1)
        assert ptx.params(*names[1:3], into=[r[1], x[0]]) == (r[1], x[0])
        ptx.inst.ret()

    assert f == "f"
    assert instructions(m.ptx()) == ["ld.param.u32 %r1, [f_param_0];", "ld.param.f32 %f0, [x];"]
