"""Parameter loads: grouping into calls, names of the results, and rejection of deliberately wrong calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.parameters import PARAMETER
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt
from .wrong_rules import wrong_first

if TYPE_CHECKING:
    from collections.abc import Callable


HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n"
TYPES = ("u64", "u64", "u32", "f32", "u8", "u32", "u64", "u64")
REGISTERS = ".reg .f32 %f<9>;\n\t.reg .b16 %rs<9>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<40>;"


def module(*statements: str, types: tuple[str, ...] = TYPES) -> str:
    parameters = ",\n".join(f"\t.param .{dtype} k_param_{number}" for number, dtype in enumerate(types))
    body = "\n\t".join([REGISTERS, *[f"{each};" for each in statements], "ret;"])
    return f"{HEAD}.visible .entry k(\n{parameters}\n)\n{{\n\t{body}\n}}\n"


def load(number: int, register: str, dtype: str | None = None) -> str:
    return f"ld.param.{dtype or TYPES[number]} %{register}, [k_param_{number}]"


def pointer(register: str, source: str) -> str:
    return f"cvta.to.global.u64 %{register}, %{source}"


def printed(*statements: str, types: tuple[str, ...] = TYPES) -> list[str]:
    """Return the lines of the printed kernel body after the register groups."""
    source = module(*statements, types=types)
    done = transpile(source, RULES)
    assert not done.rejected
    assert rebuilt(done.text) == source
    lines = [line.strip() for line in done.text.splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("rd = ")) + 1 :]


def test_values_are_loaded_in_one_call_by_their_declared_types() -> None:
    lines = printed(load(2, "r1"), load(3, "f1"), load(5, "r2"))
    assert lines[0] == "ptx.params(*params[2:4], params[5], into=[r[1], f[1], r[2]])"


def test_untyped_loads_say_so_and_other_types_are_one_for_all() -> None:
    assert printed(load(3, "r1", "b32"), load(0, "rd1", "b64"))[0] == (
        "ptx.params(params[3], params[0], into=[r[1], rd[1]], bits=True)"
    )
    assert printed(load(4, "rs1", "s8"), load(4, "rs2", "s8"))[0] == (
        "ptx.params(params[4], params[4], into=rs[1:3], dtype=s8)"
    )
    assert printed(load(2, "r1"), load(5, "r2", "s32"), load(2, "r3", "s32"))[:2] == [
        "ptx.inst.ld.param.u32(r[1], ptx.addr(params[2]))",
        "ptx.params(params[5], params[2], into=r[2:4], dtype=s32)",
    ]


def test_pointers_stand_in_one_call_beside_their_loads_or_further_down() -> None:
    lines = printed(load(0, "rd1"), pointer("rd5", "rd1"), load(1, "rd2"), pointer("rd6", "rd2"))
    assert lines[0] == "ptx.global_ptrs(*params[0:2], generic=rd[1:3], into=rd[5:7])"
    lines = printed(load(0, "rd1"), load(1, "rd2"), "bar.sync 0", pointer("rd6", "rd2"), pointer("rd5", "rd1"))
    assert lines[0] == "ptx.params(*params[0:2], into=rd[1:3])"
    assert lines[2] == "ptx.global_ptrs(*rd[2:0:-1], into=rd[6:4:-1])"
    lines = printed(load(0, "rd1", "b64"), pointer("rd5", "rd1"), load(1, "rd2", "b64"), pointer("rd6", "rd2"))
    assert lines[0] == "ptx.global_ptrs(*params[0:2], generic=rd[1:3], into=rd[5:7], bits=True)"


USES = ("st.global.u32 [%rd5], %r1", "st.global.u32 [%rd5+4], %r1")


def test_what_is_read_often_has_a_name_and_the_rest_has_none() -> None:
    lines = printed(load(2, "r1"), load(5, "r2"), load(0, "rd1"), load(1, "rd2"), pointer("rd5", "rd1"), *USES)
    assert lines[:3] == [
        "param_2, *_ = ptx.params(params[2], params[5], *params[0:2], into=[*r[1:3], *rd[1:3]])",
        "param_0 = ptx.inst.cvta.to.global_.u64(rd[5], rd[1])",
        "ptx.inst.st.global_.u32(ptx.addr(param_0), param_2)",
    ]


def test_one_pointer_with_a_name_is_a_call_and_one_without_stays_an_operand() -> None:
    assert printed(load(0, "rd1"), pointer("rd5", "rd1"), *USES)[0] == (
        "(param_0,) = ptx.global_ptrs(params[0], generic=[rd[1]], into=[rd[5]])"
    )
    assert printed(load(0, "rd1"), pointer("rd5", "rd1"), USES[0])[0] == (
        "ptx.inst.cvta.to.global_.u64(rd[5], ptx.inst.ld.param.u64(rd[1], ptx.addr(params[0])))"
    )


def test_what_does_not_fit_a_line_is_several_calls() -> None:
    types = ("u32",) * 30
    registers = [f"r{(7 * number) % 19}" for number in range(30)]
    lines = printed(*[f"ld.param.u32 %{each}, [k_param_{at}]" for at, each in enumerate(registers)], types=types)
    calls = lines[: lines.index("ptx.inst.ret()")]
    assert all(each.startswith("ptx.params(*params[") and len(each) <= 116 for each in calls)
    assert len(calls) == 3


STAYING = {
    "one load": (load(2, "r1"), "bar.sync 0", load(2, "r2")),
    "a part of a parameter": ("ld.param.u32 %r1, [k_param_0+4]", "ld.param.u32 %r2, [k_param_1+4]"),
    "under a guard": ("@!%p0 " + load(2, "r1"), "@!%p0 " + load(5, "r2")),
    "other pointers": ("cvta.to.shared.u64 %rd1, %rd2", "cvta.to.shared.u64 %rd3, %rd4"),
    "registers outside of a register group": (load(2, "q1"), load(5, "q2")),
}


@pytest.mark.parametrize("what", STAYING)
def test_others_stay(what: str) -> None:
    source = module(*STAYING[what]).replace(REGISTERS, f".reg .pred %p<1>;\n\t{REGISTERS}\n\t.reg .b32 %q1, %q2;")
    done = transpile(source, RULES)
    assert done.applied["parameter"] == 0, done.text
    assert not done.rejected
    assert rebuilt(done.text) == source


WRONG: dict[str, Callable[[str], str]] = {
    "another parameter": lambda line: line.replace("params[2]", "params[5]"),
    "another register": lambda line: line.replace("r[1:3]", "r[2:4]"),
    "the names of two registers swapped": lambda line: line.replace("param_2, param_5", "param_5, param_2"),
    "another type": lambda line: line.replace(")", ", bits=True)"),
    "a nonexistent parameter": lambda line: line.replace("params[2]", "params[80]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_rejected_alone(what: str) -> None:
    first = (load(2, "r1"), load(5, "r2"), *USES, "bar.sync %r2", "bar.sync %r2, 32")
    source = module(*first, load(6, "rd7"), load(7, "rd8"))
    done = transpile(source, wrong_first(PARAMETER, WRONG[what]))
    assert [(one.rule, one.statement) for one in done.rejected] == [("parameter", f"{load(2, 'r1')};")]
    assert rebuilt(done.text) == source
    assert "ptx.params(*params[6:8], into=rd[7:9])" in done.text
