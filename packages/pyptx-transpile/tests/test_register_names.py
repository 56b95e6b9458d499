"""Named registers: which registers get a name, where the name is used, and rejection of deliberately wrong names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pyptx_transpile import transpile
from pyptx_transpile.rules.register_names import REGISTER
from pyptx_transpile.rules.table import RULES

from .test_proof import rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.plugins.rows import SugarRule
    from pyptx_transpile import Rewrite
    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n"
PARAMETERS = "\t.param .u64 k_param_0,\n\t.param .u32 k_param_1"
REGISTERS = ".reg .pred %p<4>;\n\t.reg .b32 %r<20>;\n\t.reg .b64 %rd<9>;"


def module(*statements: str, parameters: str = PARAMETERS) -> str:
    body = "\n\t".join([REGISTERS, *[f"{each};" for each in statements], "ret;"])
    return f"{HEAD}.visible .entry k(\n{parameters}\n)\n{{\n\t{body}\n}}\n"


USED = ("add.s32 %r2, %r1, 1", "st.global.u32 [%rd3], %r1", "bar.sync %r2")


def printed(*statements: str, parameters: str = PARAMETERS) -> list[str]:
    """Transpile a kernel with these statements; return the lines of its Python body."""
    source = module(*statements, parameters=parameters)
    done = transpile(source, RULES)
    assert not done.rejected
    assert rebuilt(done.text) == source
    lines = [line.strip() for line in done.text.splitlines()]
    return lines[next(at for at, line in enumerate(lines) if line.startswith("rd = ")) + 1 :]


def test_special_registers_and_parameters_give_names() -> None:
    lines = printed(
        *("mov.u32 %r1, %tid.x", *USED),
        *("ld.param.u32 %r4, [k_param_1]", "st.global.u32 [%rd3], %r4", "bar.sync %r4"),
        *("ld.param.u64 %rd1, [k_param_0]", "bar.sync 0", "cvta.to.global.u64 %rd2, %rd1"),
        *("st.global.u32 [%rd2], %r1", "st.global.u32 [%rd2+4], %r1"),
    )
    assert "tid_x = ptx.inst.mov.u32(r[1], ptx.special.tid.x())" in lines
    assert "ptx.inst.st.global_.u32(ptx.addr(rd[3]), tid_x)" in lines
    assert "param_1 = ptx.inst.ld.param.u32(r[4], ptx.addr(params[1]))" in lines
    assert "ptx.inst.bar.sync(param_1)" in lines
    assert "param_0 = ptx.inst.cvta.to.global_.u64(rd[2], rd[1])" in lines
    assert "ptx.inst.st.global_.u32(ptx.addr(param_0, 4), tid_x)" in lines


def test_parameters_are_called_as_in_the_source() -> None:
    parameters = "\t.param .u32 k_count,\n\t.param .u32 tid_x"
    lines = printed(
        *("ld.param.u32 %r1, [k_count]", *USED, "ld.param.u32 %r3, [tid_x]", "bar.sync %r3", "bar.sync %r3, 64"),
        *("mov.u32 %r4, %tid.x", "bar.sync %r4", "bar.sync %r4, 64"),
        parameters=parameters,
    )
    assert "count_2 = ptx.inst.ld.param.u32(r[1], ptx.addr(count))" in lines
    assert "tid_x_2 = ptx.inst.ld.param.u32(r[3], ptx.addr(tid_x))" in lines
    assert "tid_x_3 = ptx.inst.mov.u32(r[4], ptx.special.tid.x())" in lines


def test_turns_of_a_loop_are_said_by_numbers_where_names_have_no_steps() -> None:
    parameters = "\t.param .u32 k_param_0,\n\t.param .u32 k_param_1"
    loads = ("ld.param.u32 %r1, [k_param_0]", "bar.sync 0", "ld.param.u32 %r2, [k_param_1]", "bar.sync 0")
    turns = [
        statement
        for at in (1, 2)
        for statement in (f"popc.b32 %r{9 + at}, %r{at}", f"brev.b32 %r{11 + at}, %r{at}", f"clz.b32 %r{13 + at}, %r1")
    ]
    lines = printed(*loads, *turns, "bar.sync %r1", "bar.sync %r2", parameters=parameters)
    assert "param_0 = ptx.inst.ld.param.u32(r[1], ptx.addr(params[0]))" in lines
    loop = lines.index("for i in range(2):")
    assert lines[loop + 1 : loop + 4] == [
        "ptx.inst.popc.b32(r[10 + i], r[1 + i])",
        "ptx.inst.brev.b32(r[12 + i], r[1 + i])",
        "ptx.inst.clz.b32(r[14 + i], r[1])",
    ]
    assert lines[loop + 4 : loop + 6] == ["ptx.inst.bar.sync(param_0)", "ptx.inst.bar.sync(param_1)"]


UNNAMED = {
    "written twice": ("mov.u32 %r1, %tid.x", *USED, "mov.u32 %r1, 3"),
    "read before": ("bar.sync %r1", "mov.u32 %r1, %tid.x", *USED),
    "read once": ("mov.u32 %r1, %tid.x", "bar.sync 0", "bar.sync %r1"),
    "under a guard": ("@%p1 mov.u32 %r1, %tid.x", *USED),
    "a part of a parameter": ("ld.param.u32 %r1, [k_param_1+2]", *USED),
    "a vector load": ("ld.param.v2.u32 {%r1, %r3}, [k_param_0]", *USED),
    "a copy of a register": ("mov.u32 %r1, %r9", *USED),
    "a register of a scope": ("{ .reg .b32 %r<9>", "mov.u32 %r1, %tid.x", *USED[:2], "}"),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_others_stay_elements_of_their_banks(what: str) -> None:
    done = transpile(module(*UNNAMED[what]), RULES)
    assert done.applied["register"] == 0, done.text
    assert not done.rejected


def first(body: Body) -> int:
    return next(at for at in range(body.start, body.end) if body.instruction(at) is not None)


def wrong(change: Callable[[str], str]) -> list[SugarRule]:
    """Return the transpiler rules; `change` alters the line that names the first instruction's register."""

    def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
        for rewrite in REGISTER.find(body, plan):
            yield replace(rewrite, write=written(rewrite)) if rewrite.start == first(body) else rewrite

    def written(rewrite: Rewrite) -> Callable[[BodyPrinter, tuple[Slot, ...]], None]:
        def write(printer: BodyPrinter, slots: tuple[Slot, ...]) -> None:
            rewrite.write(printer, slots)
            printer.page.lines[-1] = change(printer.page.lines[-1])

        return write

    return [replace(rule, find=find) if rule is REGISTER else rule for rule in RULES]


FIRST = ("mov.u32 %r1, %tid.x", *USED)
SECOND = ("mov.u32 %r4, %tid.y", "bar.sync %r4", "st.global.u32 [%rd3], %r4")
WRONG: dict[str, Callable[[str], str]] = {
    "another register": lambda line: line.replace("r[1]", "r[7]"),
    "another special register": lambda line: line.replace("tid", "ctaid"),
    "a register of another type, so that its uses raise": lambda line: line.replace("r[1]", "rd[1]"),
    "a nonexistent register": lambda line: line.replace("r[1]", "r[100]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_name_is_rejected_alone_and_its_uses_are_said_by_numbers(what: str) -> None:
    source = module(*FIRST, *SECOND)
    done = transpile(source, wrong(WRONG[what]))
    assert [(one.rule, one.statement) for one in done.rejected] == [("register", "mov.u32 %r1, %tid.x;")]
    assert rebuilt(done.text) == source
    assert "tid_x" not in done.text
    assert "tid_y = ptx.inst.mov.u32(r[4], ptx.special.tid.y())" in done.text


def test_names_are_rejected_where_calls_are_right_and_what_is_bound_is_not() -> None:
    source = module(*FIRST)
    done = transpile(source, wrong(lambda line: f"{line}; tid_x = r[7]"))
    assert [(one.rule, one.reason) for one in done.rejected] == [("register", "a register does not match")]
    assert rebuilt(done.text) == source
    assert "tid_x" not in done.text
