"""Source lines of the modules of other compilers in the corpus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyptx_ir.debug_info import frames_by_line, instruction_frames
from pyptx_ir.plugins.rows import Frame
from pyptx_ir.syntax import emit, parse, walk
from pyptx_ir.syntax.nodes import File, Function, InlinedAt, Instruction, Loc
from pyptx_ir.toolchain import assemble, disassemble

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
WITH_LINES = sorted(path for path in CORPUS.glob("*/*.ptx") if b"\t.loc" in path.read_bytes())


@pytest.mark.parametrize("path", WITH_LINES[::5], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_compilers_emit_each_caller_before_the_calls_in_it(path: Path) -> None:
    """Each instruction ends with a frame that is not inlined, and its first frame is the last `.loc` with a line."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    found, module = iter(instruction_frames(parse(text))), parse(one_line_of_assembly(text))
    files = {node.index: node.name for node in module.body if isinstance(node, File)}
    for function in (node for node in module.body if isinstance(node, Function)):
        last: Loc | None = None
        places: set[tuple[int, int, int]] = set()
        for node in walk(function):
            if isinstance(node, Loc):
                last = node
                assert node.inlined_at is None or place_of(node.inlined_at) in places
                places.add((node.file, node.line, node.column))
            elif isinstance(node, Instruction):
                frames = next(found)
                if last is not None and last.line:
                    assert (frames[0].file, frames[0].line) == (files[last.file], last.line)
                    assert len(frames) > (last.inlined_at is not None)
                    assert frames[-1].function == function.name
    assert next(found, None) is None


def one_line_of_assembly(text: str) -> str:
    """Return PTX of LLVM without each `.loc` within inline assembly."""
    return re.sub(
        r"// begin inline asm.*?// end inline asm",
        lambda assembly: re.sub(r"\t\.loc[^\n]*\n", "", assembly[0]),
        text,
        flags=re.DOTALL,
    )


def place_of(call: InlinedAt) -> tuple[int, int, int]:
    """Return the location of an inlined call."""
    return call.file, call.line, call.column


def test_lines_of_the_text_have_the_frames_of_their_instructions() -> None:
    path = CORPUS / "triton-3.9" / "across.sm_80.sums.ptx"
    module = parse(path.read_text(encoding="utf-8"))
    lines = emit(module).split("\n")
    found = frames_by_line(module)
    number = next(n for n, line in enumerate(lines, 1) if n > 311 and "add" in line)
    assert [(Path(each.file).name, each.line) for each in found[number]] == [
        ("standard.py", 287),
        ("standard.py", 358),
        ("across.py", 63),
    ]
    assert found[next(n for n, line in enumerate(lines, 1) if "%tid.x" in line)] == (
        Frame("/proc/self/cwd/sources/triton/across.py", 61, "sums"),
    )


ASSEMBLED = (
    "triton-3.9/across.sm_80.sums",
    "triton-3.9/rows.sm_80.layer-norm",
    "gluon-3.9/vectors.sm_80.totals",
    "nvcc-13.0/mma_sync.sm_86.lineinfo",
    "nvcc-13.0/templates.sm_75.lineinfo",
)


@pytest.mark.ptxas
@pytest.mark.parametrize("name", ASSEMBLED)
def test_nvdisasm_shows_the_same_inlined_calls(name: str) -> None:
    text = (CORPUS / f"{name}.ptx").read_text(encoding="utf-8")
    target = text.partition(".target ")[2].split()[0].rstrip(",")
    code = disassemble(assemble(one_line_of_assembly(text), target, options=["-lineinfo"]).cubin, lines=True)
    ours = {tuple((each.file, each.line) for each in frames) for frames in instruction_frames(parse(text))}
    shown = stacks_of(code)
    assert any(len(stack) > 1 for stack in shown)
    assert shown <= ours


def stacks_of(code: str) -> set[tuple[tuple[str, int], ...]]:
    """Return the source lines in nvdisasm's output, each with the lines of the inlined calls in the comments below."""
    comment = re.compile(r'//## File "([^"]*)", line (\d+)')
    found: list[list[tuple[str, int]]] = [[]]
    for line in code.splitlines():
        shown = comment.search(line)
        if shown is not None:
            found[-1].append((shown[1], int(shown[2])))
        elif found[-1]:
            found.append([])
    return {tuple(stack) for stack in found if stack}


@pytest.mark.parametrize("name", ["arrays.sm_100a.lines", "control.sm_100a.lines"])
def test_clang_shows_calls_in_comments(name: str) -> None:
    """The outermost line of each inlined instruction is in the file of the kernel."""
    module = parse((CORPUS / "clang-22" / f"{name}.ptx").read_text(encoding="utf-8"))
    inlined = [frames for frames in instruction_frames(module) if len(frames) > 1]
    assert inlined
    assert {Path(frames[-1].file).suffix for frames in inlined} == {".cu"}
    assert {frame.function for frames in inlined for frame in frames[:-1]} == {""}
