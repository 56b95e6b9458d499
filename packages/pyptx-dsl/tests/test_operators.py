"""Each operator emits the PTX that the docs list; operations without PTX equivalent are errors at the user's line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyptx_dsl import reg, smem
from pyptx_dsl.errors import (
    ForeignRegisterError,
    OperandError,
    RegisterTypeError,
    RewrittenOffsetError,
    TruthValueError,
)
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.tracing.trace import Trace, active
from pyptx_dsl.types import b8, b32, b64, bf16, f16, f16x2, f32, f64, pred, s16, s32, s64, u16, u32, u64
from pyptx_ir.syntax.nodes import Label

from .operator_rows import PAGES, ROWS, Row, page

NAMES = {
    "u": u32,
    "v": u32,
    "s": s32,
    "t": s32,
    "b": b32,
    "c": b32,
    "h": u16,
    "i": s16,
    "U": u64,
    "V": u64,
    "S": s64,
    "T": s64,
    "P": b64,
    "x": f32,
    "y": f32,
    "d": f64,
    "e": f64,
    "m": f16,
    "n": f16,
    "k": bf16,
    "l": bf16,
    "xx": f16x2,
    "yy": f16x2,
    "p": pred,
    "q": pred,
    "z": b8,
}


def registers() -> dict[str, object]:
    """Declare one register for each name that the rows of `operator_rows` use."""
    trace = active()
    named = {name: reg.scalar(dtype, name=f"%{name}") for name, dtype in NAMES.items()}
    shared = {"line": smem.alloc(f32, 32, name="line"), "tile": smem.alloc(f32, (4, 64), name="tile")}
    return {**named, **shared, "tid": reg.SpecialReg("%tid.x", u32, trace)}


def emitted(*statements: str, arch: str = "sm_90a") -> list[str]:
    """Trace lines of Python over the named registers; return the instructions."""

    @kernel(arch=arch)
    def body() -> None:
        names = registers()
        for statement in statements:
            exec(statement, {"active": active, "Label": Label, "reg": reg, "f32": f32, "u32": u32}, names)  # noqa: S102  the text is above
        active().emit(("ret",))

    lines = [line.strip() for line in body.ptx().splitlines()]
    return [
        line.removesuffix(";")
        for line in lines[lines.index("{") + 1 : lines.index("ret;")]
        if line and not line.startswith((".reg", ".shared"))
    ]


@pytest.mark.parametrize("row", ROWS, ids=[row.python for row in ROWS])
def test_an_operator_emits_its_row(row: Row) -> None:
    assert "; ".join(emitted(row.python)) == row.emitted


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_of_operators_have_these_tables(name: str) -> None:
    path = Path(__file__).parents[3] / "docs" / name
    if not (path.parent.parent / "noxfile.py").exists():
        return  # no docs in the package's own source distribution: nothing to compare
    assert page(name) in path.read_text(encoding="utf-8")


REFUSED = [
    *(("u + 1.5", RegisterTypeError), ("u / 2", RegisterTypeError), ("x // 2", RegisterTypeError)),
    *(("x << 1", RegisterTypeError), ("x + d", RegisterTypeError), ("m / n", RegisterTypeError)),
    *(("x & y", RegisterTypeError), ("~x", RegisterTypeError), ("p + 1", RegisterTypeError)),
    *(("p & u", RegisterTypeError), ("u | p", RegisterTypeError), ("p < q", RegisterTypeError)),
    *(("z + 1", RegisterTypeError), ("s < u", RegisterTypeError), ("s // u", RegisterTypeError)),
    *(("U < s", RegisterTypeError), ("u << U", RegisterTypeError), ("abs(u)", RegisterTypeError)),
    *(("tid += 1", RegisterTypeError), ("u + 'a'", RegisterTypeError), ("u == None", RegisterTypeError)),
    *(("u += U", RegisterTypeError), ("x % y", RegisterTypeError), ("xx + 1", RegisterTypeError)),
    *(("u + 2**33", OperandError), ("u < -1", OperandError), ("s < 2**31", OperandError), ("u >> 32", OperandError)),
    *(("u * 2**40", OperandError), ("u << -1", OperandError), ("h + 70000", OperandError)),
    *(("0 < u < 5", TruthValueError), ("not p", TruthValueError), ("u == 1 and u", TruthValueError)),
    ("max(u, v)", TruthValueError),
]


@pytest.mark.parametrize(("statement", "error"), REFUSED, ids=[statement for statement, _ in REFUSED])
def test_what_ptx_cannot_mean_is_refused(statement: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        emitted(statement)


def test_whatever_behaves_like_a_number_is_one() -> None:
    class Index:
        """A number like NumPy's integers: anything with `__index__`."""

        def __index__(self) -> int:
            return 7

    class Real:
        """A number like NumPy's floats: anything with `__float__`."""

        def __float__(self) -> float:
            return 0.5

    @kernel
    def body() -> None:
        register = reg.scalar(u32, init=Index())
        register += Index()
        register + Index()
        value = reg.scalar(f32, init=Real())
        value * Real()

    text = body.ptx()
    assert "mov.u32 %r0, 7;" in text
    assert "add.u32 %r0, %r0, 7;" in text
    assert "add.u32 %r1, %r0, 7;" in text
    assert "mov.f32 %f0, 0f3F000000;" in text
    assert "mul.rn.f32 %f1, %f0, 0f3F000000;" in text


def test_a_register_of_another_trace_names_both_kernels() -> None:
    kept: list[reg.Reg] = []

    @kernel
    def first() -> None:
        kept.append(reg.scalar(u32, init=1))

    @kernel
    def second() -> None:
        kept[0] + 1

    first.ptx()
    with pytest.raises(ForeignRegisterError, match=r"'first'.*'second'"):
        second.ptx()
    with pytest.raises(ForeignRegisterError, match="no kernel is being traced"):
        kept[0] + 1


def test_an_offset_in_a_loop_is_refreshed_by_an_in_place_operator() -> None:
    loop = ("o = u * 4", "active().append(Label(name='again'))", "P + o", "o += 512", "P + o")
    assert emitted(*loop) == [
        *("mul.lo.u32 %r0, %u, 4", "mul.wide.u32 %rd0, %u, 4", "again:", "add.s64 %rd1, %P, %rd0"),
        *("add.u32 %r0, %r0, 512", "cvt.u64.u32 %rd0, %r0", "cvt.u64.u32 %rd2, %r0", "add.s64 %rd3, %P, %rd2"),
    ]


def test_an_instruction_that_rewrites_a_looped_offset_is_refused() -> None:
    write = "active().emit(('add', 'u32'), (o, o, 1))"
    with pytest.raises(RewrittenOffsetError):
        emitted("o = u * 4", "active().append(Label(name='again'))", "P + o", write)
    assert emitted("o = u * 4", "P + o", write, "P + o")[-2:] == ["cvt.u64.u32 %rd2, %r0", "add.s64 %rd3, %P, %rd2"]


def test_a_sum_of_a_rewritten_offset_reads_the_register() -> None:
    lines = emitted("o = u * 4", "o += 1", "w = o * 2", "w2 = o + w", "P + w2")
    assert lines[:2] == ["mul.lo.u32 %r0, %u, 4", "add.u32 %r0, %r0, 1"]
    assert lines[3:5] == ["cvt.u64.u32 %rd0, %r0", "add.s64 %rd0, %rd0, %rd1"]


def test_a_wider_form_is_refreshed_in_every_width_that_a_loop_may_read() -> None:
    loop = ("o = h * 4", "active().append(Label(name='again'))", "P + o", "u ^ o", "o += 1")
    assert emitted(*loop) == [
        *("cvt.u64.u16 %rd0, %h", "mul.lo.s64 %rd0, %rd0, 4", "cvt.u16.u64 %rs0, %rd0", "cvt.u32.u64 %r0, %rd0"),
        *("again:", "add.s64 %rd1, %P, %rd0", "xor.b32 %r1, %u, %r0", "add.u16 %rs0, %rs0, 1"),
        *("cvt.u64.u16 %rd0, %rs0", "cvt.u32.u16 %r0, %rs0"),
    ]


def test_an_index_that_is_read_in_two_widths_is_computed_in_one() -> None:
    lines = emitted("i = u * v + s", "o = i * 4", "P + o", "i < 100")
    assert lines == [
        *("mul.wide.u32 %rd2, %u, %v", "cvt.s64.s32 %rd1, %s", "add.s64 %rd1, %rd2, %rd1", "cvt.u32.u64 %r1, %rd1"),
        *("mul.lo.s64 %rd0, %rd1, 4", "add.s64 %rd3, %P, %rd0", "setp.lt.u32 %p0, %r1, 100"),
    ]


@pytest.mark.parametrize("end", ["P + o", "active().emit(('mov', 'u32'), (u, o))"])
def test_a_chain_of_thousands_of_offsets_is_no_recursion(end: str) -> None:
    lines = emitted("o = u * 4", *["o = o + v"] * 3_000, end)
    assert len(lines) == 1 + 3_000 * (2 if end == "P + o" else 1) + 1


def test_a_trace_can_be_used_without_a_kernel() -> None:
    trace = Trace("loose")
    assert repr(reg.Reg("%r7", u32, trace)) == "Reg(%r7, u32)"
