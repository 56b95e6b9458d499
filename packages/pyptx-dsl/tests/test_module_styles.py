"""Modules in a style: whitespace that is not set explicitly follows the style, explicit whitespace stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import OperandError
from pyptx_dsl.modules.beginning import module
from pyptx_dsl.types import b8, b32, b64, u32, u64
from pyptx_ir.syntax import nodes, parse, walk
from pyptx_ir.syntax.style import KNOWN, Style

if TYPE_CHECKING:
    from pyptx_dsl.modules.builder import ModuleBuilder

WIDE = Style(trivia={"*": " ", "^ *": ""}, gaps={"Instruction": {"opcode %": "    "}})


def everything() -> ModuleBuilder:
    """Return a module with each kind of statement and block that a style separates by whitespace."""
    m = module(version=(8, 7), target="sm_90a")
    m.file(1, "a.cu")
    lut = m.global_("lut", u32, 4, align=16)

    @m.func("helper", [m.param("a", b32)], visible=True)
    def helper() -> None:
        ptx.ret()

    @m.entry("k", [m.param("p", u64)], visible=True)
    def k() -> None:
        (r,) = reg.declare(b32, "%r")
        (address,) = reg.declare(b64, "%address")
        smem.alloc(u32, (4,))
        ptx.inst.mov.u64(address, lut)
        ptx.inst.mov.u32(r, "%tid.x")
        sum_ = reg.scalar(u32, init=1)
        with ptx.scope():
            ptx.var("param", b32, "argument")
            ptx.inst.st.param.b32(ptx.addr("argument"), r)
            ptx.call(helper, ["argument"], uni=True)
        ptx.label("$end")
        ptx.inst.st.global_.u32(ptx.addr(address + sum_), r)
        ptx.ret()

    with m.section(".debug_str"):
        m.label("$name")
        m.data(b8, 97, 0)
    return m


@pytest.mark.parametrize("name", KNOWN)
def test_a_style_changes_white_space_alone(name: str) -> None:
    m = everything()
    plain = m.ptx()
    styled = m.ptx(style=name)
    assert styled != plain
    assert "".join(styled.split()) == "".join(plain.split())
    assert parse(styled) == m.module()
    assert m.ptx(style=KNOWN[name]) == styled
    assert m.ptx() == plain


def test_a_style_gives_the_white_space_of_every_statement() -> None:
    tree = parse(everything().ptx(style=WIDE))
    closing = {node.closing_trivia for node in walk(tree) if isinstance(node, nodes.Block | nodes.Section)}
    assert {node.leading_trivia for node in walk(tree)} == {"", " "}
    assert closing | {tree.tail} == {" "}


def test_a_function_in_the_style_of_nvcc() -> None:
    m = module(version=(8, 7), target="sm_90a")

    @m.entry("k", [m.param("p", u64)], visible=True)
    def k() -> None:
        r = reg.bank("%r", b32, 2)
        ptx.inst.mov.u32(r[0], "%tid.x")
        ptx.inst.bra("$end")
        ptx.label("$end")
        ptx.ret()

    assert m.ptx(style="nvcc") == (
        ".version 8.7\n.target sm_90a\n.address_size 64\n\n.visible .entry k(\n\t.param .u64 p\n)\n{\n"
        "\t.reg .b32 \t%r<2>;\n\n\tmov.u32 \t%r0, %tid.x;\n\tbra \t$end;\n\n$end:\n\tret;\n\n}\n\n"
    )


def test_what_was_said_stays() -> None:
    m = module(tail=" // the end\n", unchecked=True)
    m.formatted(leading="\n\n", text=".version  8.7")
    m.version(8, 7)
    m.target("sm_90a")
    m.comment("starts here")

    @m.entry("k", brace="\n\n")
    def k() -> None:
        (r,) = reg.declare(b32, "%r")
        ptx.inst.neg.s32(r, r)
        ptx.formatted(leading="\n\n")
        ptx.inst.neg.s32(r, r)
        ptx.formatted(text="neg.s32 %r,%r ;")
        ptx.inst.neg.s32(r, r)
        ptx.comment("why")
        ptx.inst.neg.s32(r, r)
        ptx.raw("neg.s32  %r,  %r;")
        ptx.formatted(leading="\n")

    assert m.ptx(style=WIDE) == (
        "\n\n.version  8.7 .target sm_90a\n\n// starts here\n.entry k()\n\n{ .reg .b32 %r; neg.s32    %r, %r;"
        "\n\nneg.s32    %r, %r; neg.s32 %r,%r ;\n\t// why\n\tneg.s32    %r, %r; neg.s32  %r,  %r;\n} // the end\n"
    )


@pytest.mark.parametrize("style", ["nvc", 8, "like=a.ptx"])
def test_what_is_no_style_is_refused(style: Any) -> None:
    with pytest.raises(OperandError, match="unknown style") as caught:
        module().ptx(style=style)
    assert "nvcc" in (caught.value.help or "")
    assert "test_module_styles.py" in str(caught.value)
