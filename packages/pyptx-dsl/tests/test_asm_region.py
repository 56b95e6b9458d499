"""`ptx.asm_region` emits the comments of inline assembly around its body, in the text and in the syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import ControlFlowError, OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import u32
from pyptx_ir.syntax import emit, parse
from pyptx_ir.syntax.nodes import Function, Instruction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.kernels.kernel import Kernel


def built(body: Callable[[], object]) -> Kernel:
    def k() -> None:
        body()

    return kernel(k)


def text_of(body: Callable[[], object]) -> str:
    text = built(body).ptx()
    return text[text.index(";\n\n") + 3 : text.rindex("}")]


def twice(d: object) -> None:
    """Emit a stand-in for an `asm` statement of two instructions between braces."""
    with ptx.asm_region(), ptx.scope():
        ptx.inst.add.u32(d, d, d)


def test_comments_stand_around_the_block() -> None:
    def body() -> None:
        d = reg.scalar(u32, init=1)
        twice(d)
        with ptx.asm_region():
            ptx.inst.mov.u32(d, 2)
            ptx.inst.mov.u32(d, 3)
        ptx.ret()

    assert text_of(body) == (
        "\tmov.u32 %r0, 1;\n"
        "\t// begin inline asm\n\t{\n\t\tadd.u32 %r0, %r0, %r0;\n\t}\n\t// end inline asm\n"
        "\t// begin inline asm\n\tmov.u32 %r0, 2;\n\tmov.u32 %r0, 3;\n\t// end inline asm\n"
        "\tret;\n"
    )


def test_the_comments_are_leads_of_the_tree() -> None:
    def body() -> None:
        d = reg.scalar(u32)
        with ptx.asm_region(begin="from here", end="to here"):
            ptx.inst.mov.u32(d, 2)

    module = built(body).module()
    (function,) = [node for node in module.body if isinstance(node, Function)]
    assert function.body is not None
    (instruction,) = [node for node in function.body.body if isinstance(node, Instruction)]
    assert instruction.leading_trivia.endswith("// from here\n\t")
    assert function.body.closing_trivia == "\n\t// to here\n"
    assert emit(parse(emit(module))) == emit(module)


def test_an_empty_region_is_two_comments() -> None:
    def body() -> None:
        reg.scalar(u32, init=1)
        with ptx.asm_region():
            pass
        ptx.ret()

    assert text_of(body) == "\tmov.u32 %r0, 1;\n\t// begin inline asm\n\t// end inline asm\n\tret;\n"


def test_regions_in_regions_and_texts_that_are_no_comment_are_refused() -> None:
    def nested() -> None:
        with ptx.asm_region(), ptx.asm_region():
            ptx.ret()

    with pytest.raises(ControlFlowError, match="must not be nested"):
        built(nested).ptx()
    for text in ("", "two\nlines"):
        with pytest.raises(OperandError, match="expected a comment of one line"):
            built(lambda text=text: ptx.asm_region(begin=text)).ptx()
    with pytest.raises(ControlFlowError, match=r"ptx\.asm_region\(…\) needs a `with` statement"):
        built(ptx.asm_region).ptx()


def test_a_region_after_one_that_raised_can_be_opened() -> None:
    def body() -> None:
        with pytest.raises(OperandError), ptx.asm_region():
            ptx.inst.mov.u32(reg.scalar(u32), object())
        with ptx.asm_region():
            ptx.ret()

    assert built(body).ptx().count("end inline asm") == 1
