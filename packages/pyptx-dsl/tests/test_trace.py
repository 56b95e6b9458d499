"""A trace records statements in order, generates names, and emits the same text every time."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import reg, smem
from pyptx_dsl.errors import (
    DuplicateNameError,
    EmptyKernelWarning,
    InstructionUseError,
    NoTraceError,
    OperandError,
    RegisterTypeError,
    UndefinedLabelError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.registers.operands import AddressOperand, PipeRef
from pyptx_dsl.tracing.trace import Trace, active, current, tracing
from pyptx_dsl.types import b32, f32, f64, pred, u32, u64
from pyptx_ir.syntax import parse
from pyptx_ir.syntax.nodes import Instruction, Label, Pragma
from pyptx_ir.syntax.operands import Register

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_dsl.kernels.kernel import Kernel

EXAMPLE = """
from pyptx_dsl import reg, smem
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.tracing.trace import active
from pyptx_dsl.types import f32, pred, u32, u64

@kernel
def k():
    trace = active()
    s = smem.alloc(f32, (4, 4))
    bars = smem.mbarrier(3)
    n = reg.scalar(u32, init=3)
    p = reg.scalar(u64, init=0)
    for i in range(3):
        p += n * 1000 + i
        s[n, i] = reg.scalar(f32, init=i)
    (n < 4) & (n > 1)
    trace.emit(("ret",))
"""


def example() -> Kernel:
    names: dict[str, Kernel] = {}
    exec(EXAMPLE, names)  # noqa: S102  the text is above
    return names["k"]


def test_twenty_builds_four_threads_and_two_processes_give_one_text() -> None:
    texts = {example().ptx() for _ in range(20)}
    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(example().ptx())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts.update(results)
    script = EXAMPLE + "\nimport sys; sys.stdout.write(k.ptx())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        texts.add(done.stdout)
    assert len(texts) == 1


def test_the_text_parses_to_the_module_it_came_from() -> None:
    built = example()
    assert parse(built.ptx()) == built.module()


def test_banks_stand_at_the_head_in_order_of_first_use() -> None:
    text = example().ptx()
    head = [line.strip() for line in text.splitlines() if line.startswith("\t.")]
    assert head[:3] == [".reg .b32 %r<10>;", ".reg .b64 %rd<7>;", ".reg .f32 %f<3>;"]
    assert ".shared .align 128 .b8 smem_0[64];" in head
    assert ".shared .align 8 .b8 mbar_0[24];" in head


def test_outside_a_kernel_everything_says_where_it_belongs() -> None:
    assert current() is None
    for call in (lambda: reg.scalar(u32), lambda: reg.array(f32, 2), lambda: smem.alloc(f32, 4), active):
        with pytest.raises(NoTraceError, match="@kernel"):
            call()


def test_a_failed_trace_leaves_nothing_behind() -> None:
    calls: list[int] = []

    @kernel
    def flaky() -> None:
        reg.scalar(u32, init=1)
        calls.append(1)
        if len(calls) == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        flaky.ptx()
    assert current() is None
    assert "mov.u32 %r0, 1;" in flaky.ptx()
    assert flaky.ptx() == flaky.ptx()
    assert len(calls) == 2


def test_a_kernel_traced_inside_another_does_not_disturb_it() -> None:
    @kernel
    def inner() -> None:
        reg.scalar(u32, init=7)

    @kernel
    def outer() -> None:
        reg.scalar(u32, init=1)
        inner.ptx()
        reg.scalar(u32, init=2)

    assert "init" not in outer.ptx()
    assert [line for line in outer.ptx().splitlines() if "mov" in line] == ["\tmov.u32 %r0, 1;", "\tmov.u32 %r1, 2;"]


def test_an_empty_kernel_warns_at_its_def() -> None:
    @kernel
    def nothing() -> None: ...

    with pytest.warns(EmptyKernelWarning, match="nothing") as caught:
        nothing.ptx()
    assert caught[0].filename == __file__


def body_lines(build: Kernel) -> list[str]:
    text = build.ptx()
    return [line.strip() for line in text[text.index("{") :].splitlines() if line.strip() and ".reg" not in line][1:-1]


def test_operands_are_spelt_for_their_instruction() -> None:
    @kernel
    def k() -> None:
        trace = active()
        x, d, r = reg.scalar(f32), reg.scalar(f64), reg.scalar(u32)
        p, q = reg.scalar(pred), reg.scalar(pred)
        a = reg.scalar(u64)
        vector = reg.array(f32, 2, name="%v")
        trace.emit(("add", "f32"), (x, x, 1))
        trace.emit(("add", "f32"), (x, x, 0.5))
        trace.emit(("add", "f64"), (d, d, 1))
        trace.emit(("mov", "f32"), (x, True))
        trace.emit(("cvt", "rn", "f32", "s32"), (x, 3))
        trace.emit(("st", "global", "v2", "f32"), (AddressOperand(a, -8), [0, 1.5]))
        trace.emit(("ld", "global", "v2", "f32"), (vector, AddressOperand(a, 4)))
        trace.emit(("setp", "lt", "u32"), (PipeRef(p, q), r, 5))
        trace.emit(("mov", "u32"), (r, "%tid.x"), guard=~p)
        trace.emit(("call",), (("%r0",), "f", (r, 5)))

    assert body_lines(k) == [
        "add.f32 %f0, %f0, 0f3F800000;",
        "add.f32 %f0, %f0, 0f3F000000;",
        "add.f64 %fd0, %fd0, 0d3FF0000000000000;",
        "mov.f32 %f0, 0f3F800000;",
        "cvt.rn.f32.s32 %f0, 3;",
        "st.global.v2.f32 [%rd0+-8], {0f00000000, 0f3FC00000};",
        "ld.global.v2.f32 {%v0, %v1}, [%rd0+4];",
        "setp.lt.u32 %p0|%p1, %r0, 5;",
        "@!%p0 mov.u32 %r0, %tid.x;",
        "call (%r0), f, (%r0, 5);",
    ]


def test_strings_are_what_they_spell() -> None:
    @kernel
    def k() -> None:
        trace = active()
        plain = reg.scalar(u32, init=1, name="plain")
        trace.emit(("mov", "u32"), (plain, "symbol+4"))
        trace.emit(("mov", "u32"), (plain, "-1"))
        trace.emit(("ld", "shared", "u32"), (plain, "[symbol+8]"))
        trace.emit(("mov", "u32"), (plain, "%laneid"))
        trace.emit(("st", "shared", "u32"), (AddressOperand("[symbol+8]", 4), plain + 1))

    assert body_lines(k)[1:] == [
        *(
            "mov.u32 plain, symbol+4;",
            "mov.u32 plain, -1;",
            "ld.shared.u32 plain, [symbol+8];",
            "mov.u32 plain, %laneid;",
        ),
        *("add.u32 %r0, plain, 1;", "st.shared.u32 [symbol+12], %r0;"),
    ]
    assert parse(k.ptx()) == k.module()


@pytest.mark.parametrize("text", ["a b", "%r1; trap", "[", "1x", "é"])
def test_strings_that_spell_no_operand_are_refused(text: str) -> None:
    @kernel
    def k() -> None:
        active().emit(("mov", "u32"), (reg.scalar(u32), text))

    with pytest.raises(OperandError):
        k.ptx()


@pytest.mark.parametrize("value", [None, {}, object(), b"x", "", 1j])
def test_what_is_no_operand_is_refused(value: object) -> None:
    @kernel
    def k() -> None:
        active().emit(("mov", "u32"), (reg.scalar(u32), value))

    with pytest.raises(OperandError):
        k.ptx()


def test_a_literal_of_a_type_without_literals_is_refused() -> None:
    @kernel
    def k() -> None:
        active().emit(("mov", "b16"), (reg.scalar(u32), 0.5))

    with pytest.raises(OperandError, match="f32 and f64 only"):
        k.ptx()


def test_the_table_is_asked_about_every_instruction() -> None:
    @kernel
    def k() -> None:
        x = reg.scalar(f32)
        active().emit(("add", "u32"), (x, x, x))

    with pytest.raises(InstructionUseError, match=r"add\.u32"):
        k.ptx()


def test_a_guard_is_a_predicate() -> None:
    @kernel
    def k() -> None:
        active().emit(("ret",), (), guard=reg.scalar(u32))

    with pytest.raises(RegisterTypeError, match="pred"):
        k.ptx()


def test_labels_are_fresh_and_defined_once() -> None:
    @kernel
    def k() -> None:
        trace = active()
        trace.append(Label(name="$L_loop_0"))
        first, second = trace.new_label("loop"), trace.new_label("loop")
        assert (first, second) == ("$L_loop_1", "$L_loop_2")
        trace.append(Label(name=first))
        with pytest.raises(DuplicateNameError):
            trace.append(Label(name=first))
        trace.emit(("bra",), (first,))

    k.ptx()


def test_a_branch_to_nowhere_is_found_when_the_trace_ends() -> None:
    @kernel
    def k() -> None:
        trace = active()
        with trace.scope():
            trace.append(Label(name="inside"))
            trace.emit(("bra",), ("outside",))
            trace.emit(("bra",), ("inside",))
        trace.append(Label(name="outside"))
        trace.emit(("bra",), ("inside",))  # error here

    with pytest.raises(UndefinedLabelError, match="inside") as caught:
        k.ptx()
    assert "error here" in str(caught.value)


def test_scopes_nest_and_keep_order() -> None:
    @kernel
    def k() -> None:
        trace = active()
        reg.scalar(u32, init=1)
        with trace.scope():
            reg.scalar(u32, init=2)
            with trace.scope():
                reg.scalar(u32, init=3)
        reg.scalar(u32, init=4)

    text = k.ptx()
    assert (
        "\tmov.u32 %r0, 1;\n\t{\n\t\tmov.u32 %r1, 2;\n\t\t{\n\t\t\tmov.u32 %r2, 3;\n\t\t}\n\t}\n\tmov.u32 %r3, 4;\n"
        in text
    )


def test_other_statements_and_ready_instructions_can_be_appended() -> None:
    @kernel
    def k() -> None:
        trace = active()
        offset = reg.scalar(u32, init=1) * 4
        trace.append(Pragma(values=("nounroll",)))
        ready = Instruction(opcode=("mov", "b32"), operands=(Register("%other"), Register(offset.raw_name)))
        reg.scalar(b32, name="%other")
        trace.append(ready)

    assert body_lines(k) == [
        "mov.u32 %r0, 1;",
        "mul.lo.u32 %r1, %r0, 4;",
        '.pragma "nounroll";',
        "mov.b32 %other, %r1;",
    ]


def test_nothing_can_be_emitted_into_a_trace_that_has_ended() -> None:
    trace = Trace("done")
    with tracing(trace):
        trace.emit(("ret",))
    with pytest.raises(NoTraceError, match="ended"):
        trace.emit(("ret",))


def test_comments_stand_in_front_of_what_comes_next() -> None:
    @kernel
    def k() -> None:
        trace = active()
        trace.comment("first")
        trace.emit(("ret",))
        trace.comment("last")

    assert "\t// first\n\tret;\n\t// last\n}" in k.ptx()


def test_the_prologue_comes_before_everything() -> None:
    @kernel
    def k() -> None:
        trace = active()
        trace.emit(("bar", "sync"), (0,))
        with trace.scope(), trace.in_prologue():
            trace.emit(("bar", "sync"), (1,))
        trace.emit(("bar", "sync"), (2,))

    assert [line for line in body_lines(k) if "bar" in line] == ["bar.sync 1;", "bar.sync 0;", "bar.sync 2;"]


@pytest.mark.long
def test_tracing_is_linear_in_long_functions(tmp_path: Path) -> None:
    """Lines are looked up once per function: 16 times the instructions take at most 40 times as long."""
    import time

    def seconds(count: int) -> float:
        lines = ["def k():", "    r = reg.scalar(u32, init=0)", *["    r += 1"] * count]
        path = tmp_path / f"long{count}.py"
        path.write_text("\n".join(lines))
        names: dict[str, object] = {"reg": reg, "u32": u32}
        exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102  the text is above
        build = kernel(names["k"])  # type: ignore[call-overload]  # a mistake on purpose
        started = time.process_time()
        assert len(build.ptx().splitlines()) > count
        return time.process_time() - started

    seconds(100)
    short = max(min(seconds(500) for _ in range(3)), 0.002)
    assert min(seconds(8000) for _ in range(3)) < 40 * short
