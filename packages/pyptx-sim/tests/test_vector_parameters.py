"""Vector registers as parameters and results of functions. Manual: "Vectors as Operands", "Function Declarations"."""

from __future__ import annotations

import numpy as np
import pytest

import pyptx_sim
from pyptx_sim.errors import ProgramError

# Element type -> bits; instructions that write vector component `{c}` from number `h`, and read it to number `t`.
TYPES = {
    "b8": (8, "cvt.u8.u16 {c}, h;", "cvt.u32.u8 t, {c};"),
    "u8": (8, "cvt.u8.u16 {c}, h;", "cvt.u32.u8 t, {c};"),
    "s8": (8, "cvt.u8.u16 {c}, h;", "cvt.u32.u8 t, {c};"),
    "b16": (16, "mov.b16 {c}, h;", "cvt.u32.u16 t, {c};"),
    "u16": (16, "mov.b16 {c}, h;", "cvt.u32.u16 t, {c};"),
    "s16": (16, "mov.b16 {c}, h;", "cvt.u32.u16 t, {c};"),
    "b32": (32, "cvt.u32.u16 {c}, h;", "mov.b32 t, {c};"),
    "u32": (32, "cvt.u32.u16 {c}, h;", "mov.b32 t, {c};"),
    "s32": (32, "cvt.u32.u16 {c}, h;", "mov.b32 t, {c};"),
    "f32": (32, "cvt.rn.f32.u16 {c}, h;", "cvt.rzi.u32.f32 t, {c};"),
    "b64": (64, "cvt.u64.u16 {c}, h;", "cvt.u32.u64 t, {c};"),
    "u64": (64, "cvt.u64.u16 {c}, h;", "cvt.u32.u64 t, {c};"),
    "f64": (64, "cvt.rn.f64.u16 {c}, h;", "cvt.rzi.u32.f64 t, {c};"),
}
CASES = [(length, name) for length in (2, 4) for name, (bits, *_) in TYPES.items() if length * bits <= 128]
HEADER = ".version 8.5\n.target sm_80\n.address_size 64\n"
ENTRY = """.visible .entry k(.param .u64 out)
{{
	.reg .u64 d; .reg .u32 r, t, i; .reg .u16 h; .reg .{vector} V;
	ld.param.u64 d, [out];
	mov.u32 i, %tid.x;
	{code}
	mad.wide.u32 d, i, 4, d;
	st.global.u32 [d], r;
	ret;
}}
"""


def made(vector: str, length: int, name: str) -> str:
    """Return PTX that writes 1, 2, … to a vector's components, and the thread index plus one to the last component."""
    make = TYPES[name][1]
    parts = [f"{vector}.{each}" for each in "xyzw"[:length]]
    numbers = [f"mov.u16 h, {number};" for number in range(1, length)]
    numbers.append("mov.u32 t, %tid.x; add.u32 t, t, 1; cvt.u16.u32 h, t;")
    return " ".join(f"{number} {make.format(c=part)}" for number, part in zip(numbers, parts, strict=True))


def digits(vector: str, length: int, name: str, result: str = "r") -> str:
    """Return PTX that combines a vector's components as digits of base 100."""
    read = TYPES[name][2]
    parts = [f"{vector}.{each}" for each in "xyzw"[:length]]
    return f"mov.u32 {result}, 0; " + " ".join(
        f"{read.format(c=part)} mad.lo.u32 {result}, {result}, 100, t;" for part in parts
    )


def taking(length: int, name: str) -> str:
    body = f"{{ .reg .u32 t; {digits('a', length, name, 'o')} ret; }}"
    function = f".func (.reg .u32 o) f(.reg .v{length} .{name} a)\n{body}\n"
    code = f"{made('V', length, name)} call (r), f, (V);"
    return HEADER + function + ENTRY.format(vector=f"v{length} .{name}", code=code)


def returning(length: int, name: str) -> str:
    body = f"{{ .reg .u32 t; .reg .u16 h; {made('a', length, name)} ret; }}"
    function = f".func (.reg .v{length} .{name} a) f()\n{body}\n"
    code = f"call (V), f; {digits('V', length, name)}"
    return HEADER + function + ENTRY.format(vector=f"v{length} .{name}", code=code)


@pytest.mark.parametrize("write", [taking, returning])
@pytest.mark.parametrize(("length", "name"), CASES, ids=[f"v{length}-{name}" for length, name in CASES])
def test_components_of_vector_parameters_and_results_arrive(write, length, name):
    out = np.zeros(64, np.uint32)
    result = pyptx_sim.run(write(length, name), grid=1, block=64, args=[out])
    assert result.findings == ()
    first = int("".join(f"{number:02}" for number in range(1, length)))
    assert (out == first * 100 + np.arange(1, 65)).all()


@pytest.mark.ptxas
@pytest.mark.parametrize("write", [taking, returning])
def test_ptxas_and_the_checker_accept_these_functions(write, tmp_path):
    import subprocess

    from pyptx_ir.isa.modules import check_text
    from pyptx_ir.toolchain.finder import find_tool

    for number, case in enumerate(CASES):
        text, path = write(*case), tmp_path / f"{number}.ptx"
        path.write_text(text, encoding="utf-8")
        command = [find_tool("ptxas").path, "-arch", "sm_80", path, "-o", path.with_suffix(".cubin")]
        subprocess.run(list(map(str, command)), check=True, capture_output=True)
        assert check_text(text) == (), case


def test_a_vector_of_another_length_is_an_error_at_the_call():
    text = taking(2, "u32").replace(".reg .v2 .u32 V", ".reg .v4 .u32 V")
    with pytest.raises(ProgramError, match=r"expected 2 registers for the parameter, got 4\nPTX line \d+"):
        pyptx_sim.run(text, grid=1, block=32, args=[np.zeros(32, np.uint32)])
