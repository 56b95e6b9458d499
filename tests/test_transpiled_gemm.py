"""The warp-specialized wgmma GEMM as compilers emit it: number of its Python lines, and structure of its main loop."""

from __future__ import annotations

import ast
import re

import pytest
from tools.transpiler_report import of_module

from pyptx.codegen import ptx_to_python
from pyptx_ir.syntax import decode

from .corpus_modules import CORPUS

pytestmark = pytest.mark.no_cover

# Lines of Python per instruction. NVRTC 12.9 converts addresses through generic pointers, two instructions more.
MOST = {
    "nvcc-13.0/hopper_gemm.sm_90a.ptx": 0.45,
    "nvcc-13.5/hopper_gemm.sm_90a.ptx": 0.45,
    "nvrtc-13.5/hopper_gemm.sm_90a.ptx": 0.45,
    "nvrtc-12.4/hopper_gemm.sm_90a.ptx": 0.48,
    "nvrtc-12.9/hopper_gemm.sm_90a.ptx": 0.48,
}
MAIN_LOOP = [
    "with ptx.loop",
    "ptx.pragma",
    "ptx.inst.mov.u32",
    "ptx.inst.and_.b32",
    "ptx.inst.mov.u32",
    "ptx.inst.setp.ne.s32",
    "full_2.at().wait",
    "ptx.inst.wgmma.fence.sync.aligned",
    "wgmma_m64n256k16",
    "ptx.inst.wgmma.wait_group.sync.aligned",
    "with ptx.if_",
    "empty_2.at().arrive",
    "ptx.inst.add.s32",
    "next_stage",
    "ptx.inst.setp.lt.s32",
    "ptx.inst.mov.u32",
]
"""Calls of the K loop: wait for a stage, multiply, free the previous stage, and advance."""
PRODUCT = [
    "ptx.inst.add.s32",
    "descriptor",
    "ptx.inst.add.s32",
    "descriptor",
    "wgmma_m64n256k16_mma_async",
    "for each of 3",
    "descriptor",
    "descriptor",
    "wgmma_m64n256k16_mma_async",
    "ptx.inst.wgmma.commit_group.sync.aligned",
]
"""Calls of the function that multiplies two tiles (64 of K in four steps of 16); steps after the first are a loop."""


def transpiled(path: str) -> ast.Module:
    return ast.parse(ptx_to_python(decode((CORPUS / path).read_bytes()), sugar=True))


def name_of(call: ast.expr) -> str:
    """Return the called name, without arguments."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call() as inner, attr=attr)):
            return f"{name_of(inner)}().{attr}"
        case ast.Call(func=func):
            return ast.unparse(func)
        case _:
            raise AssertionError(ast.unparse(call))


def calls(statements: list[ast.stmt]) -> list[str]:
    """Return the names that statements and their nested blocks call."""
    found: list[str] = []
    for each in statements:
        match each:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                found.append(name_of(call))
            case ast.With(items=[ast.withitem(context_expr=head)], body=body):
                found += [f"with {name_of(head)}", *calls(body)]
            case ast.For(iter=ast.Call(args=[ast.Tuple(elts=turns)]), body=body):
                found += [f"for each of {len(turns)}", *calls(body)]
            case _:
                pass
    return found


@pytest.mark.parametrize("path", MOST)
def test_it_takes_less_than_half_a_line_for_an_instruction(path: str) -> None:
    counts = of_module(decode((CORPUS / path).read_bytes()), path)
    assert counts["lines"] + counts["formatting"] <= MOST[path] * counts["instructions"]


@pytest.mark.parametrize("path", MOST)
def test_each_wait_is_one_call_of_the_ring_of_its_barrier(path: str) -> None:
    """The specification's `full.at(stage).wait(phase)`: no other rule rewrites a wait of the ring."""
    source = decode((CORPUS / path).read_bytes())
    waits = re.findall(r"(full|empty)\w*\.at\(.*\)\.wait\(", ptx_to_python(source, sugar=True))
    assert len(waits) == source.count("mbarrier.try_wait") == 3
    assert waits.count("full") == 2


@pytest.mark.parametrize("path", list(MOST)[:3])
def test_its_main_loop_reads_as_one_would_write_it(path: str) -> None:
    file = transpiled(path)
    loops = [node for node in ast.walk(file) if isinstance(node, ast.With) and "loop" in ast.unparse(node.items[0])]
    inner = [loop for loop in loops if not any(other in ast.walk(loop) for other in loops if other is not loop)]
    assert [calls([loop]) for loop in inner] == [MAIN_LOOP]


@pytest.mark.parametrize("path", list(MOST)[:3])
def test_the_product_of_two_tiles_is_one_function(path: str) -> None:
    functions = {node.name: node for node in ast.walk(transpiled(path)) if isinstance(node, ast.FunctionDef)}
    assert calls(functions["wgmma_m64n256k16"].body) == PRODUCT
