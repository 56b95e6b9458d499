"""Named fragments: which fragments get a name, where the name is used, and rejection of deliberately wrong names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.fragments import FRAGMENT
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt
from .wrong_rules import wrong_first

if TYPE_CHECKING:
    from collections.abc import Callable


HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{\n"
REGISTERS = ".reg .f32 %f<40>;\n\t.reg .b32 %r<40>;"
LOAD = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r30]"


def product(d: int, a: int = 1, b: int = 9, c: int | None = None) -> str:
    def vector(bank: str, first: int, count: int) -> str:
        return f"{{{', '.join(f'%{bank}{first + number}' for number in range(count))}}}"

    operands = vector("f", d, 4), vector("r", a, 4), vector("r", b, 2), vector("f", d if c is None else c, 4)
    return f"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {', '.join(operands)}"


def module(*statements: str) -> str:
    body = "\n\t".join([REGISTERS, *[f"{each};" for each in statements], "ret;"])
    return f"{HEAD}\t{body}\n}}\n"


def printed(*statements: str) -> list[str]:
    """Transpile these statements; return the body's lines after the register groups, with a short name for MMAs."""
    source = module(*statements)
    done = transpile(source, RULES)
    assert not done.rejected
    assert rebuilt(done.text) == source
    lines = [line.strip() for line in done.text.splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("r = ")) + 1 :]


def test_the_first_call_that_has_a_fragment_names_it() -> None:
    lines = printed(LOAD, product(1), "bar.sync 0", product(1, b=15), "bar.sync %r2", product(5))
    assert lines[0] == "ptx.inst.ldmatrix.sync.aligned.m8n8.x4.shared.b16(a := r[1:5], ptx.addr(r[30]))"
    assert lines[1] == "mma_m16n8k16_f32(acc := f[1:5], a, [r[9], r[10]], acc)"
    assert lines[3] == "mma_m16n8k16_f32(acc, a, [r[15], r[16]], acc)"
    assert lines[4] == "ptx.inst.bar.sync(r[2])"
    assert lines[5] == "mma_m16n8k16_f32(f[5:9], a, [r[9], r[10]], f[5:9])"


def test_one_call_names_several_and_what_it_adds_to_is_one_of_them() -> None:
    lines = printed(product(1), "bar.sync 0", product(1), "bar.sync 1", product(1), "st.shared.f32 [%r9], %f2")
    assert lines[0] == "mma_m16n8k16_f32(acc := f[1:5], a := r[1:5], b := [r[9], r[10]], acc)"
    assert lines[2] == lines[4] == "mma_m16n8k16_f32(acc, a, b, acc)"
    assert lines[5] == "ptx.inst.st.shared.f32(ptx.addr(r[9]), f[2])"


def test_names_are_told_apart_by_numbers() -> None:
    other = LOAD.replace("1, %r2, %r3, %r4", "11, %r12, %r13, %r14")
    lines = printed(
        LOAD, product(1), "bar.sync 0", product(5), "bar.warp.sync %r1", other, product(1, 11, 20), product(9, 11)
    )
    assert "(a := r[1:5], ptx.addr(r[30]))" in lines[0]
    assert "(a_2 := r[11:15], ptx.addr(r[30]))" in lines[5]
    assert lines[7] == "mma_m16n8k16_f32(f[9:13], a_2, b, f[9:13])"


UNNAMED = {
    "a matrix fragment with only two uses": (product(1), "bar.sync 0", product(5, b=11)),
    "vectors that no MMA instruction uses": tuple(
        statement
        for at in range(3)
        for statement in ("st.global.v4.b32 [%r30], {%r1, %r2, %r3, %r4}", f"bar.sync {at}")
    ),
    "a register outside of a register group": (
        *(product(1, 1).replace("%f1,", "%g,"), "bar.sync 0", product(1, 5, 20).replace("%f1,", "%g,"), "bar.sync %r1"),
        product(1, 9, 22).replace("%f1,", "%g,"),
    ),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_others_stay_lists(what: str) -> None:
    source = module(*UNNAMED[what]).replace(REGISTERS, f"{REGISTERS}\n\t.reg .f32 %g;")
    done = transpile(source, RULES)
    assert ":=" not in done.text
    assert not done.rejected
    assert rebuilt(done.text) == source


WRONG: dict[str, Callable[[str], str]] = {
    "other registers": lambda line: line.replace("r[1:5]", "r[2:6]"),
    "fewer registers": lambda line: line.replace("r[1:5]", "r[1:4]"),
    "another address": lambda line: line.replace("r[30]", "r[31]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_name_is_rejected_alone(what: str) -> None:
    first = (LOAD, product(1, b=9), "bar.sync 0", product(5, b=11), "bar.sync 1")
    second = [each.replace("%r", "%r1").replace("%r130", "%r30") for each in ("bar.sync 2", LOAD)]
    source = module(*first, *second, product(9, 11, 21), "bar.sync 3", product(13, 11, 23))
    done = transpile(source, wrong_first(FRAGMENT, WRONG[what]))
    assert [(one.rule, one.statement) for one in done.rejected] == [("fragment", f"{LOAD};")]
    assert rebuilt(done.text) == source
    assert "(a := r[11:15], " in done.text


def test_all_names_of_a_function_go_where_one_is_bound_to_nothing() -> None:
    source = module(LOAD, product(1), "bar.sync 0", product(5, b=11))
    done = transpile(source, wrong_first(FRAGMENT, lambda line: line.replace("a :=", "other :=")))
    assert {one.rule for one in done.rejected} == {"fragment"}
    assert ":=" not in done.text
    assert rebuilt(done.text) == source
