"""Round trip of single constructs: PTX to Python to a trace to PTX; `test_external_corpus.py` uses whole modules."""

from __future__ import annotations

import ast

import pytest

from pyptx.codegen import ptx_to_python, transpile
from pyptx.parser import PtxSyntaxError
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_ir.plugins.manager import manager

from .corpus_modules import CORPUS

pytestmark = pytest.mark.no_cover

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n\n"
BODY = HEAD + ".visible .entry k(.param .u64 x)\n{{\n\t.reg .pred %p<4>;\n\t.reg .b32 %r<9>;\n\t{}\n\tret;\n}}\n"
THINGS = {
    "a header": HEAD,
    "a variable": HEAD + ".global .align 4 .b32 table[3] = {1, -2, 0x3};\n",
    "a function": HEAD + ".func (.param .b32 out) f(.param .b32 in)\n{\n\tret;\n}\n",
    "an instruction": BODY.format("add.s32 \t%r1, %r2, -1;"),
    "a guard": BODY.format("@!%p1 mov.u32 \t%r1, %tid.x;"),
    "a loop": BODY.format("L:\n\tadd.s32 %r1, %r1, 1;\n\tsetp.lt.s32 %p1, %r1, 9;\n\t@%p1 bra L;"),
    "a branch": BODY.format("@%p1 bra E;\n\tmov.u32 %r1, 2;\nE:\n\tmov.u32 %r2, 3;"),
    "a block with names of its own": BODY.format("{ .reg .b32 t; shl.b32 t, %r1, 2; add.u32 %r2, t, 1; }"),
    "a comment": BODY.format("// said before\n\tbar.sync 0; // and behind"),
    "a chain of instructions": BODY.format("and.b32 %r1, %r2, 7;\n\tshl.b32 %r3, %r1, 2;\n\tadd.s32 %r4, %r3, %r5;"),
}


def module_of(python: str) -> ModuleBuilder:
    """Run a printed file and return its module."""
    names: dict[str, object] = {"__name__": "printed"}
    exec(compile(python, "<printed>", "exec"), names)  # noqa: S102  the code under test
    module = names["module"]
    assert isinstance(module, ModuleBuilder)
    return module


@pytest.mark.parametrize("sugar", [False, True], ids=["plain", "sugar"])
@pytest.mark.parametrize("source", THINGS.values(), ids=THINGS)
def test_a_thing_is_printed_traced_and_emitted_as_it_was(source: str, sugar: bool) -> None:  # noqa: FBT001  a parameter
    assert module_of(ptx_to_python(source, sugar=sugar)).ptx() == source


def test_what_is_printed_parses_reads_top_down_and_names_its_kernel() -> None:
    source = (CORPUS / "nvcc-13.0" / "gemm.sm_80.ptx").read_text(encoding="utf-8")
    done = transpile(source, manager().sugar_rules(), kernel_name="gemm")
    tree = ast.parse(done.text)
    assert ast.get_docstring(tree)
    kinds = [type(node).__name__ for node in tree.body]
    assert kinds.index("FunctionDef") > max(at for at, kind in enumerate(kinds) if kind.startswith("Import"))
    assert "gemm" in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("source", ["int main() {}", ".version 8.0\n.target sm_80\n.entry k() {", "\x7fELF\x02\x01"])
def test_what_is_no_ptx_is_one_error_with_a_line(source: str) -> None:
    with pytest.raises(PtxSyntaxError, match=r":[13]:"):
        transpile(source, ())
