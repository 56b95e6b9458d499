"""Mapping of PTX modifiers to Python names, names in `ptx`, and errors for unknown names."""

from __future__ import annotations

import keyword
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyptx_dsl import plugin, ptx, reg, smem
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import (
    DuplicateNameError,
    InstructionUseError,
    MissingNamespaceError,
    NoTraceError,
    OperandError,
    RegisterTypeError,
    UnknownNameError,
)
from pyptx_dsl.instructions import names
from pyptx_dsl.instructions.forms.wrapper import Modifiers, Wrapper
from pyptx_dsl.instructions.groups.textures import Texture, TextureModifiers
from pyptx_dsl.instructions.groups.video import Video, VideoModifiers
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.naming import to_ptx, to_python
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.types import b8, b32, bf16, e2m1x2, f16, f32, f64, pred, s32, s64, u32, u64
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.table.chapters import ROWS
from pyptx_ir.plugins import API_VERSION, PluginError, hookimpl
from pyptx_ir.plugins.discovery import Candidate
from pyptx_ir.plugins.homes import install_hint
from pyptx_ir.plugins.manager import Plugins
from pyptx_ir.syntax.operands import Address, Register, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).name

WORDS = sorted({word for row in ROWS for _, values in row.slots for word in values})


def traced(body: Callable[[], object], **options: object) -> str:
    def k() -> None:
        body()

    return kernel(k, **options).ptx()


def emitted(body: Callable[[], object]) -> list[str]:
    """Return the instructions that a body emits, one per line."""
    inside = traced(body).partition("{\n")[2].rpartition("}")[0]
    return [line.strip() for line in inside.splitlines() if line.strip() and not line.strip().startswith(".")]


# --- modifiers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_table_can_be_written_as_an_attribute(word: str) -> None:
    attribute = to_python(word)
    assert attribute.isidentifier()
    assert not keyword.iskeyword(attribute)
    assert to_ptx(attribute) == word


@pytest.mark.parametrize(
    ("attribute", "word"),
    [
        ("global_", "global"),
        ("async_", "async"),
        ("_2d", "2d"),
        ("_128x256b", "128x256b"),
        ("shared__cta", "shared::cta"),
        ("mbarrier__complete_tx__bytes", "mbarrier::complete_tx::bytes"),
        ("xor_", "xor"),
        ("L2__128B", "L2::128B"),
        ("kind__f16", "kind::f16"),
    ],
)
def test_attributes_spell_words(attribute: str, word: str) -> None:
    assert to_ptx(attribute) == word
    assert repr(getattr(ptx.inst.op, attribute)) == f"ptx.inst.op.{to_python(word)}"


@pytest.mark.parametrize("words", ["add._x", "a._.b", "tex.3d", "red.async", "sp::2:4", "add.a-b"])
def test_an_instruction_shows_as_python_that_makes_it(words: str) -> None:
    shown = repr(ptx.inst[words])
    assert repr(eval(shown, {"ptx": ptx})) == shown  # noqa: S307  what the line above wrote
    assert ("[" in shown) == (words in {"add._x", "a._.b", "add.a-b"})


PARTS = st.lists(st.text("abcdefghijklmnopqrstuvwxyz0123456789", min_size=1, max_size=8), min_size=1, max_size=4)


@given(st.lists(PARTS.map("_".join), min_size=1, max_size=3).map("::".join))
def test_spelling_in_python_and_back_is_the_word(word: str) -> None:
    assert to_ptx(to_python(word)) == word


# --- the generic instruction --------------------------------------------------------------------------


def test_a_chain_is_looked_up_once() -> None:
    assert ptx.inst.ld.global_.v4.f32 is ptx.inst.ld.global_.v4.f32
    with pytest.raises(AttributeError):
        _ = ptx.inst._private


def test_an_instruction_returns_its_first_register() -> None:
    def body() -> None:
        a, p = reg.scalar(u32), reg.scalar(pred)
        assert ptx.inst.add.u32(a, a, 1) is a
        assert ptx.inst.bar.sync(0) is None
        assert ptx.inst.ld.global_.v2.u32([a, a], ptx.addr(reg.scalar(u64))) is None
        assert ptx.inst.add.u32(a, a, 1, pred=~p) is a

    assert emitted(body)[-1] == "@!%p0 add.u32 %r0, %r0, 1;"


def test_operands_of_every_kind_are_spelt_as_the_instruction_needs_them() -> None:
    def body() -> None:
        x, d, i, p, q = (reg.scalar(dtype) for dtype in (f32, f64, s32, pred, pred))
        four = reg.array(f32, 4)
        pointer = reg.scalar(u64)
        tile = smem.alloc(b8, (2, 16), name="tile")
        ptx.inst.mov.f32(x, 0)
        ptx.inst.mov.f32(x, 0.5)
        ptx.inst.add.f64(d, d, np.float32(2))
        ptx.inst.add.s32(i, i, np.int64(-3))
        ptx.inst.ld.global_.v4.f32(four, ptx.addr(pointer, -16))
        ptx.inst.st.global_.v4.f32(ptx.addr(pointer), [x, *four[:2], x])
        ptx.inst.setp.lt.s32(PipeRef(p, q), i, 4)
        ptx.inst.mov.u32(i, tile[1])
        ptx.inst.mov.u32(i, "tile")
        ptx.inst.mov.u32(i, "-7")
        ptx.inst.mov.u32(i, "%tid.x")
        ptx.inst.mov.u32(Register("%r0"), Symbol("tile"))
        ptx.inst.ld.shared.f32(x, Address(Symbol("tile")))
        ptx.inst.cvt.rn.f32.s32(x, 3)
        ptx.inst.selp.f32(x, 1, 0.0, p)

    assert emitted(body) == [
        "mov.f32 %f0, 0f00000000;",
        "mov.f32 %f0, 0f3F000000;",
        "add.f64 %fd0, %fd0, 0d4000000000000000;",
        "add.s32 %r0, %r0, -3;",
        "ld.global.v4.f32 {%farr0_0, %farr0_1, %farr0_2, %farr0_3}, [%rd0+-16];",
        "st.global.v4.f32 [%rd0], {%f0, %farr0_0, %farr0_1, %f0};",
        "setp.lt.s32 %p0|%p1, %r0, 4;",
        "mov.u32 %r0, tile+16;",
        "mov.u32 %r0, tile;",
        "mov.u32 %r0, -7;",
        "mov.u32 %r0, %tid.x;",
        "mov.u32 %r0, tile;",
        "ld.shared.f32 %f0, [tile];",
        "cvt.rn.f32.s32 %f0, 3;",
        "selp.f32 %f0, 0f3F800000, 0f00000000, %p0;",
    ]


def test_parameters_are_loaded_and_arrays_of_them_addressed() -> None:
    def k() -> None:
        assert ptx.param(u32, "n").dtype is u32
        ptx.param(f16, "h")
        ptx.param(u64, "map")
        into = reg.scalar(u64)
        assert ptx.param(u64, "p", into) is into

    parameters = [("u32", "n"), ("f16", "h"), ("b8.align64.array128", "map"), ("u64.ptr.global.palign16", "p")]
    text = kernel(k, raw_params=[parameters[0], ("b16", "h"), *parameters[2:]]).ptx()
    for line in (
        "ld.param.u32 %r0, [n];",
        "ld.param.b16 %h0, [h];",
        "mov.u64 %rd0, map;",
        "ld.param.u64 %rd1, [p];",
    ):
        assert line in text


def test_pointers_of_arrays_are_two_instructions_each() -> None:
    def k(X: object, Y: object) -> None:
        x, y = ptx.global_ptrs(X, Y)
        assert x.dtype is y.dtype is u64

    text = kernel(k, in_specs=(Tile(4, f32), Tile(4, f32))).ptx()
    assert "ld.param.u64 %rd0, [X];\n\tcvta.to.global.u64 %rd0, %rd0;\n\tld.param.u64 %rd1, [Y];" in text


# --- expressions of the wrappers ------------------------------------------------------------------------


def test_mad_as_an_expression_takes_its_type_from_its_factors() -> None:
    def body() -> None:
        a, s, x, d, h = (reg.scalar(dtype) for dtype in (b32, s32, f32, f64, bf16))
        assert ptx.mad(a, 3, a).dtype is u32
        assert ptx.mad(3, s, 1, mode="wide").dtype is s64
        assert ptx.mad(a, a, reg.scalar(u64), mode="wide").dtype is u64
        assert ptx.mad(x, 2, x).dtype is f32
        assert ptx.mad(d, d, 1.0).dtype is f64
        assert ptx.mad(h, h, h).dtype is bf16
        ptx.mad(s32, s, s, s, 1, mode="hi")
        ptx.mad(f32, x, x, x, x)

    assert [line.split()[0] for line in emitted(body)] == [
        "mad.lo.u32",
        "mad.wide.s32",
        "mad.wide.u32",
        "fma.rn.f32",
        "fma.rn.f64",
        "fma.rn.bf16",
        "mad.hi.s32",
        "mad.rn.f32",
    ]


def test_types_may_be_named_by_strings_and_untyped_instructions_by_their_width() -> None:
    def body() -> None:
        a, x = reg.scalar(u32), reg.scalar(f32)
        ptx.add("u32", a, a, 1)
        ptx.and_(u32, a, a, 7)
        ptx.xor_(f32, x, x, a)
        ptx.not_(pred, reg.scalar(pred), reg.scalar(pred))
        ptx.ex2(f32, x, x, ftz=True, approx=True)
        ptx.rcp(f64, reg.scalar(f64), 2.0, approx=True)
        ptx.div(f32, x, 1, x)
        ptx.div(f32, x, 1, x, full=True)
        ptx.min(f16, reg.scalar(f16), reg.scalar(f16), reg.scalar(f16), nan=True, xorsign_abs=True)

    assert [line.split()[0] for line in emitted(body)] == [
        *("add.u32", "and.b32", "xor.b32", "not.pred", "ex2.approx.ftz.f32", "rcp.approx.ftz.f64", "div.rn.f32"),
        *("div.full.f32", "min.NaN.xorsign.abs.f16"),
    ]


# --- mistakes -------------------------------------------------------------------------------------------


def u() -> object:
    return reg.scalar(u32)


MISTAKES: tuple[tuple[Callable[[], object], type[Exception], str], ...] = (
    (lambda: ptx.setp("lte", u32, reg.scalar(pred), 1, 2), OperandError, "lte"),
    (lambda: ptx.setp("lt", u32, reg.scalar(pred), 1, 2, combine="and"), OperandError, "together"),
    (lambda: ptx.setp("lt", u32, reg.scalar(pred), 1, 2, pred=u(), pred_negate=u()), OperandError, "two guards"),
    (lambda: ptx.set_("lt", u32, u32, u(), 1, 2, c=reg.scalar(pred)), OperandError, "together"),
    (lambda: ptx.sreg("%tid.w"), OperandError, "tid.w"),
    (lambda: ptx.add(u(), u(), 1, 2), OperandError, "needs a type as first argument"),
    (lambda: ptx.add(pred, u(), 1, 2), OperandError, "no form for pred"),
    (lambda: ptx.add(u32, u(), 1, 2, rounding="rn"), OperandError, "no modifier 'rounding'"),
    (lambda: ptx.sin(f32, u(), 1, fast=True), OperandError, "no modifier 'fast'"),
    (lambda: ptx.fma(f16, u(), 1, 1, 1, relu=True, sat=True), OperandError, "combination relu and sat"),
    (lambda: ptx.mul(s32, u(), 1, 2, mode="low"), OperandError, "low"),
    (lambda: ptx.add(u32, reg.scalar(f32), 1, 2), InstructionUseError, "add.u32"),
    (lambda: ptx.add(f16, reg.scalar(f16), 1.0, 2.0), OperandError, "f16"),
    (lambda: ptx.mad(1, 2, 3), OperandError, "needs a register"),
    (lambda: ptx.mad(u32, u(), 1), OperandError, "no type argument, got u32"),
    (lambda: ptx.mad(u32, 1, 2, 3, 4), OperandError, "needs a destination register"),
    (lambda: ptx.dp4a(f32, u32, u(), 1, 2, 3), OperandError, r"no form for f32\.u32 supported: u32\.u32"),
    (lambda: ptx.cvt(f16, f32, reg.scalar(f16), 1.0, rounding="rx"), OperandError, "rx"),
    (lambda: ptx.cvt(f16, f32, reg.scalar(f16), reg.scalar(f32)), InstructionUseError, "cvt.f16.f32"),
    (lambda: ptx.cvt(f16, f32, reg.scalar(f16), 1.0, rounding="rs"), OperandError, "random_bits"),
    (lambda: ptx.addr(reg.scalar(u64), u()), OperandError, "must be a constant"),
    (lambda: ptx.ld(f32, reg.scalar(f32), reg.scalar(f32)), RegisterTypeError, "expected an address"),
    (lambda: ptx.ld(f32, reg.scalar(f32), 1.5), OperandError, "expected an address"),
    (lambda: ptx.ld(pred, reg.scalar(pred), reg.scalar(u64)), RegisterTypeError, "cannot be loaded or stored"),
    (lambda: ptx.ld(f32, reg.array(f32, 3), reg.scalar(u64)), OperandError, "2, 4 or 8"),
    (lambda: ptx.ld(f32, reg.scalar(f32), reg.scalar(u64), space="texture"), OperandError, "texture"),
    (lambda: ptx.ld(f32, reg.scalar(f32), reg.scalar(u64), sem="acquire"), OperandError, "scope"),
    (lambda: ptx.ld(f32, reg.scalar(f32), reg.scalar(u64), scope="gpu"), OperandError, "scope"),
    (lambda: ptx.st(f32, reg.scalar(u64), 1, sem="acquire", scope="gpu"), OperandError, "acquire"),
    (lambda: ptx.atom.add(pred, None, reg.scalar(u64), 1), OperandError, "no form for pred"),
    (lambda: ptx.atom.add(bf16, None, reg.scalar(u64), reg.scalar(bf16)), OperandError, "destination"),
    (lambda: ptx.atom.min(f16, None, reg.scalar(u64), reg.scalar(f16)), OperandError, "needs one of v2, v4, v8"),
    (lambda: ptx.red.add(u32, reg.scalar(u64), u(), sem="acquire"), OperandError, "one of relaxed, release"),
    (lambda: ptx.redux.sync.add(f32, reg.scalar(f32), reg.scalar(f32)), OperandError, "no form"),
    (lambda: ptx.shfl.sync.up(u(), 1, 0), OperandError, "got 1.*ptx.shfl.sync.up.dst, v, delta.*__shfl_up_sync"),
    (lambda: ptx.shfl.sync.down(u(), 1), OperandError, "missing operand lane.*__shfl_down_sync"),  # type: ignore[call-arg]  # a mistake on purpose
    (lambda: ptx.shfl.sync.idx(0xFFFFFFFF, u(), 0), OperandError, "the destination must be a register"),  # type: ignore[arg-type]  # a mistake on purpose
    (lambda: ptx.vote.sync.ballot(reg.scalar(pred), -1), OperandError, "got -1.*__ballot_sync"),  # type: ignore[arg-type]  # a mistake on purpose
    (lambda: ptx.vote.sync.uni(reg.scalar(pred)), OperandError, "missing"),  # type: ignore[call-arg]  # a mistake on purpose
    (lambda: ptx.match.any.sync(u32, u(), -1), OperandError, "got -1.*__match_any_sync"),
    (lambda: ptx.match.all.sync(u32, u()), OperandError, "missing.*__match_all_sync"),  # type: ignore[call-arg]  # a mistake on purpose
    (lambda: ptx.redux.sync.and_(b32, u(), -1), OperandError, "got -1.*__reduce_and_sync"),
    (lambda: ptx.cvta.shared(u()), RegisterTypeError, "64-bit"),
    (lambda: ptx.addr(smem.alloc(u32, 8)[1]), OperandError, r"value of an element of smem_0.*s\.address\(i\)"),
    (lambda: ptx.ld(f32, reg.scalar(f32), smem.alloc(b32, 8)[u()], space="shared"), OperandError, "element"),
    (lambda: ptx.cvta.to_global(5), OperandError, "got 5"),
    (lambda: ptx.param(u32, "absent"), OperandError, "absent"),
    (lambda: ptx.params("absent"), OperandError, "no scalar parameter 'absent'.*dtype=u32"),
    (lambda: ptx.params("n", into=[u(), u()], dtype=u32), OperandError, "must be 1 register, one per parameter"),
    (lambda: ptx.params("n", into=["%r1"], dtype=u32), OperandError, "must be registers"),  # type: ignore[list-item]  # a mistake on purpose
    (lambda: ptx.params("n", dtype=pred), RegisterTypeError, "cannot be .pred"),
    (lambda: ptx.global_ptrs("p", generic=u()), OperandError, r"pass a list: generic=\["),  # type: ignore[arg-type]  # a mistake on purpose
    (lambda: ptx.bar.sync(16), OperandError, "16"),
    (lambda: ptx.bar.sync(0, 33), OperandError, "33"),
    (lambda: ptx.named_barrier(2).arrive(), OperandError, "count"),
    (lambda: ptx.warp.reduce_sum(reg.scalar(f32), width=24), OperandError, "24"),
    (lambda: ptx.warp.reduce_sum(reg.scalar(pred)), RegisterTypeError, "pred"),
    (lambda: ptx.warp.reduce_sum(ptx.special.tid.x()), RegisterTypeError, "writable register"),
    (lambda: ptx.warp.reduce_and(reg.scalar(f32)), RegisterTypeError, "f32"),
    (lambda: ptx.ldmatrix(dst=reg.array(b32, 3), src=u(), layout="x3"), OperandError, "x3"),
    (lambda: ptx.ldmatrix(dst=reg.array(b32, 2), src=u()), OperandError, "4 registers"),
    (lambda: ptx.ldmatrix(dst=reg.array(b32, 4), src=u(), shape="m8n16"), OperandError, "b6x16_p32"),
    (lambda: ptx.ldmatrix(dst=reg.array(b32, 4), src=u(), shape="m16n16"), OperandError, "one of x1, x2"),
    (lambda: ptx.cp.async_.ca(u(), reg.scalar(u64), 3), OperandError, "4, 8, 16"),
    (lambda: ptx.cp.async_.cg(u(), reg.scalar(u64), 8), OperandError, "16 bytes"),
    (lambda: ptx.cp.async_.cg(u(), reg.scalar(u64), 16, 20), OperandError, "src_size"),
    (lambda: ptx.cp.async_.cg(u(), u(), 16, 8, ignore_src=reg.scalar(pred)), OperandError, "mutually exclusive"),
    (lambda: ptx.cp.async_.wait_group(-1), OperandError, "-1"),
    (lambda: ptx.mbarrier.arrive(u(), sem="release"), OperandError, "together"),
    (lambda: ptx.mbarrier.array(u(), 0, 2)[2], OperandError, "array of size 2"),
    (lambda: ptx.var("register", u32, "v"), OperandError, "state space"),
    (lambda: ptx.var("shared", u32, "v", size=-1), OperandError, "-1"),
    (lambda: ptx.var("shared", u32, "v", linking="static"), OperandError, "static"),
    (lambda: ptx.var("shared", pred, "v"), RegisterTypeError, "pred"),
    (lambda: (ptx.var("global", u32, "v"), ptx.var("local", u32, "v")), DuplicateNameError, "'v'"),
    (lambda: (ptx.file_(1, "a"), ptx.file_(1, "b")), DuplicateNameError, "file index 1"),
    (lambda: ptx.file_(0, "a"), OperandError, "index"),
    (lambda: ptx.file_(1, 'a"b'), OperandError, "cannot be written"),
    (lambda: ptx.loc(1, -1), OperandError, "three numbers"),
    (lambda: ptx.fence("relaxed"), OperandError, "relaxed"),
    (lambda: ptx.inst.mov.u32(u(), object()), OperandError, "expected an operand"),
    (lambda: ptx.mov(e2m1x2, reg.scalar(e2m1x2), 1), InstructionUseError, "mov"),
)


@pytest.mark.parametrize(("body", "error", "words"), MISTAKES, ids=[str(number) for number in range(len(MISTAKES))])
def test_a_mistake_is_an_error_at_its_line(body: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        traced(body)
    told = caught.value
    assert isinstance(told, PyptxError)
    assert re.search(words, f"{told.message} {told.help}"), told  # str(told) quotes source, which contains `words`
    assert f"{HERE}:" in str(told)
    assert "^" in str(told)


@pytest.mark.hopper
def test_a_shape_that_stmatrix_lacks_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(OperandError, match="m16n8"):
        traced(lambda: ptx.stmatrix(smem=u(), regs=reg.array(b32, 4), shape="m16n16"))


MMA = {"dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "dtype_c": f32}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": (16, 8, 17)}, "m16n8k17"),
        ({"dtype_b": f16}, r"no form for f32\.bf16\.f16\.f32"),
        ({"shape": (16, 8, 17), "dtype_b": f16}, "no form"),
        ({"shape": (16, 8)}, r"\(16, 8\)"),
        ({"a_layout": "col"}, "invalid a_layout='col'"),
        ({"b_layout": "diagonal"}, "diagonal"),
        ({"satfinite": True}, "satfinite"),
        ({"bit_op": "xor"}, "no modifier 'bit_op'"),
        ({"a": "two"}, "a must have 4 registers"),
    ],
)
def test_a_product_that_does_not_exist_is_refused(changes: dict[str, object], words: str) -> None:
    def body() -> None:
        arguments: dict[str, object] = {
            **MMA,
            "shape": (16, 8, 16),
            "d": reg.array(f32, 4),
            "a": reg.array(b32, 4),
            "b": reg.array(b32, 2),
            "c": reg.array(f32, 4),
            **changes,
        }
        if arguments["a"] == "two":
            arguments["a"] = reg.array(b32, 2)
        ptx.mma.sync(**arguments)

    with pytest.raises(OperandError, match=words):
        traced(body)


@pytest.mark.parametrize(
    "call",
    [
        ptx.inst.ret,
        ptx.ret,
        lambda: ptx.if_(None),
        lambda: ptx.range_(0, 4),
        ptx.special.tid.x,
        ptx.warp.sync,
        lambda: ptx.raw("ret;"),
        ptx.scope,
    ],
)
def test_outside_a_kernel_everything_says_so(call: Callable[[], object]) -> None:
    with pytest.raises(NoTraceError, match="@kernel") as caught:
        call()
    assert HERE in str(caught.value)


# --- names --------------------------------------------------------------------------------------------


def test_every_name_is_there_once_and_where_the_index_says() -> None:
    listed = [name for line in names.MODULES.values() for name in line.split()]
    assert sorted(listed) == sorted(ptx.__all__)
    assert len(set(listed)) == len(listed)
    for name in listed:
        assert getattr(ptx, name) is not None
    assert set(ptx.__all__) <= set(dir(ptx))


@pytest.mark.long
def test_every_module_of_the_index_can_be_imported_by_itself() -> None:
    for module in names.MODULES:
        code = f"import pyptx_dsl.{module}"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_everything_public_is_documented() -> None:
    for name in ptx.__all__:
        value = getattr(ptx, name)
        assert (value.__doc__ or "").strip(), name
        for member in (member for member in dir(type(value)) if not member.startswith("_")):
            assert (getattr(value, member).__doc__ or "").strip(), f"{name}.{member}"


def test_importing_ptx_imports_none_of_its_modules() -> None:
    rooms = "('pyptx_dsl.instructions', 'pyptx_dsl.control_flow')"
    code = f"import sys; from pyptx_dsl import ptx; print([m for m in sys.modules if m.startswith({rooms})])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("wgmma", "pyptx-arch-hopper"),
        ("tma", "pyptx-arch-hopper"),
        ("cluster", "pyptx-arch-hopper"),
        ("setmaxnreg", "pyptx-arch-hopper"),
        ("elect_sync", "pyptx-arch-hopper"),
        ("fence.proxy_async", "pyptx-arch-hopper"),
        ("cp.async_.bulk", "pyptx-arch-hopper"),
        ("cp.async_bulk", "pyptx-arch-hopper"),
        ("tcgen05", "pyptx-arch-blackwell"),
    ],
)
def test_a_namespace_that_is_not_installed_names_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyptx_ir.plugins.manager.manager", lambda: Plugins(lambda: ()))
    value: object = ptx
    *parents, last = name.split(".")
    for parent in parents:
        value = getattr(value, parent)
    with pytest.raises(MissingNamespaceError) as caught:
        getattr(value, last)
    assert f"ptx.{name} needs {package}" in str(caught.value)
    assert install_hint(package) in str(caught.value)
    assert not hasattr(value, last)


def test_a_name_that_nobody_has_is_an_attribute_error_with_the_nearest_ones() -> None:
    with pytest.raises(UnknownNameError, match="fmaa") as caught:
        _ = ptx.fmaa
    assert "did you mean fma" in str(caught.value)
    with pytest.raises(UnknownNameError, match=r"unknown name ptx.fence.every"):
        _ = ptx.fence.every
    for value in (ptx, ptx.fence, ptx.cp, ptx.pipe, ptx.inst):
        assert not hasattr(value, "__wrapped__")


class Acme:
    """A plugin's namespace."""

    frob = "the namespace"


def plugins(**namespaces: object) -> Plugins:
    class Plugin:
        @hookimpl
        def pyptx_api_version(self) -> int:
            return API_VERSION

        @hookimpl
        def pyptx_namespaces(self) -> dict[str, object]:
            return namespaces

    return Plugins(
        lambda: (
            Candidate("dsl", "pyptx-dsl", lambda: plugin),
            Candidate("acme", "acme-arch", Plugin),
        )
    )


def test_a_plugins_namespace_is_an_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = plugins(**{"acme": Acme, "fence.proxy_async": "the fence", "cp.async_.bulk": "the copies"})
    monkeypatch.setattr("pyptx_ir.plugins.manager.manager", lambda: installed)
    assert ptx.acme.frob == "the namespace"
    assert ptx.fence.proxy_async == "the fence"
    assert ptx.cp.async_.bulk == "the copies"
    assert "acme" not in vars(ptx)
    assert installed.namespace("mma") is ptx.mma


@pytest.mark.parametrize("name", ["mma", "fence.proxy", "cp.async_.ca"])
def test_a_plugin_that_takes_a_name_of_ours_is_a_clash_with_both_owners(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = plugins(**{name: Acme})
    monkeypatch.setattr("pyptx_ir.plugins.manager.manager", lambda: installed)
    with pytest.raises(PluginError, match=r"pyptx-dsl.*acme-arch"):
        _ = ptx.nothing


def test_no_row_of_the_table_is_read_before_a_wrapper_is_used() -> None:
    code = (
        "import sys; from pyptx_dsl import ptx; ptx.add, ptx.lop3, ptx.sin; print('pyptx_ir.isa.table' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_the_typed_keywords_of_wrappers_are_those_of_their_rows() -> None:
    keywords: dict[type, set[str]] = {Video: set(), Texture: set(), Wrapper: set()}
    for wrapper in (value for name in ptx.__all__ if isinstance(value := getattr(ptx, name), Wrapper)):
        family = next(kind for kind in keywords if isinstance(wrapper, kind))
        keywords[family] |= {keyword for form in wrapper.forms for keyword in form.keywords}
    assert keywords[Video] == set(VideoModifiers.__annotations__)
    assert keywords[Texture] == set(TextureModifiers.__annotations__)
    assert keywords[Wrapper] == set(Modifiers.__annotations__) | {"combine"}  # `combine` is a keyword of lop3 only
