"""Source lines of instructions from `.file`, `.loc` and `.debug_str`."""

from __future__ import annotations

import re

import pytest

from pyptx_ir.debug_info import instruction_frames, user_frame
from pyptx_ir.isa.modules.check import check_text
from pyptx_ir.isa.modules.diagnostic import shown
from pyptx_ir.plugins.rows import Frame
from pyptx_ir.syntax import Source, parse

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
STRINGS = '.file 1 "a.cu"\n.file 2 "b.h"\n.section .debug_str {\n$s:\n.b8 102,0\n$t:\n.b8 103,50,0,-61\n.b8 169,0\n}\n'


def frames_of(body: str, tail: str = STRINGS) -> list[list[tuple[str, int, str]]]:
    """Return file, line and function of the frames of each instruction of a function `k` with this body."""
    module = parse(f"{HEADER}.entry k() {{\n{body}\n}}\n{tail}")
    return [[(each.file, each.line, each.function) for each in frames] for frames in instruction_frames(module)]


def test_an_instruction_has_the_line_of_the_last_loc_before_it() -> None:
    body = "bar.sync 0;\n.loc 1 5 3\nbar.sync 0; bar.sync 1;\n{ .loc 2 6 1\nbar.sync 0; }\nL: bar.sync 0;"
    first, last = [("a.cu", 5, "k")], [("b.h", 6, "k")]
    assert frames_of(body) == [[], first, first, last, last]


def test_the_instructions_of_inline_assembly_have_the_line_of_their_statement() -> None:
    lines = (".loc 1 7 7", "// begin inline asm", ".loc 1 8 7", "bar.sync 0;", ".loc 1 9 7", "bar.sync 1;", "")
    after = ("// end inline asm", ".loc 1 30 1", "ret;")
    assert [line for ((_, line, _),) in frames_of("\n".join((*lines, *after)))] == [7, 7, 30]
    twice = "\n".join(
        (*lines, *after[:1], *(line.replace(" 1 7 ", " 1 20 ").replace(" 1 8 ", " 1 21 ") for line in lines))
    )
    assert [line for ((_, line, _),) in frames_of(f"{twice}// end inline asm\nret;")] == [7, 7, 20, 20, 20]


def test_a_loc_ends_with_its_function() -> None:
    module = parse(f"{HEADER}.func f() {{ .loc 1 5 3\nret; }}\n.entry k() {{ ret; }}\n{STRINGS}")
    assert instruction_frames(module) == [(Frame("a.cu", 5, "f"),), ()]


def test_an_inlined_call_is_followed_by_the_lines_of_its_callers() -> None:
    body = (
        ".loc 1 9 3\n.loc 1 5 1, function_name $s, inlined_at 1 9 3\n"
        ".loc 2 2 7, function_name $t+1, inlined_at 1 5 1\nbar.sync 0;\n.loc 1 10 3\nret;"
    )
    assert frames_of(body) == [[("b.h", 2, "2"), ("a.cu", 5, "f"), ("a.cu", 9, "k")], [("a.cu", 10, "k")]]


def test_the_latest_loc_of_a_call_is_its_caller() -> None:
    calls = "".join(
        f".loc 1 {line} 1\n.loc 1 5 1, function_name $s, inlined_at 1 {line} 1\n"
        ".loc 2 2 7, function_name $t, inlined_at 1 5 1\nbar.sync 0;\n"
        for line in (20, 30)
    )
    assert [frames[-1][1] for frames in frames_of(calls)] == [20, 30]


def test_a_call_without_a_loc_of_its_own_is_in_the_function() -> None:
    assert frames_of(".loc 2 2 7, function_name $s, inlined_at 1 9 3\nret;") == [[("b.h", 2, "f"), ("a.cu", 9, "k")]]


def test_recursion_that_was_inlined_stays_finite() -> None:
    again = ".loc 1 5 1, function_name $s, inlined_at 1 5 1\nbar.sync 0;\n"
    body = f".loc 1 9 3\n.loc 1 5 1, function_name $s, inlined_at 1 9 3\n{again * 50}"
    assert set(map(tuple, frames_of(body))) == {(("a.cu", 5, "f"), ("a.cu", 9, "k"))}


@pytest.mark.parametrize("loc", [".loc 7 5 3", ".loc 1 0 3"])
def test_an_unknown_file_and_line_0_have_no_frame(loc: str) -> None:
    assert frames_of(f".loc 1 4 4\n{loc}\nret;") == [[]]
    assert frames_of(f".loc 1 4 4\n{loc}, function_name $s, inlined_at 1 4 4\nret;") == [[("a.cu", 4, "k")]]


@pytest.mark.parametrize(("name", "shown"), [("$t+3", "\u00e9"), ("$t+99", "k"), ("$none", "k"), ("$s+1", "k")])
def test_an_invalid_name_of_a_function_is_that_of_the_ptx_function(name: str, shown: str) -> None:
    ((first, _),) = frames_of(f".loc 1 9 3\n.loc 2 2 7, function_name {name}, inlined_at 1 9 3\nret;")
    assert first == ("b.h", 2, shown)


def test_a_module_without_a_string_section_names_the_ptx_function() -> None:
    body = ".loc 1 9 3\n.loc 1 2 7, function_name $s, inlined_at 1 9 3\nret;"
    assert frames_of(body, '.file 1 "a.cu"\n') == [[("a.cu", 2, "k"), ("a.cu", 9, "k")]]


PACKAGES = "/env/env/lib/python3.12/site-packages/"


@pytest.mark.parametrize(
    ("files", "user"),
    [
        (["kernel.cu"], 0),
        ([PACKAGES + "triton/language/standard.py", "/env/sums.py"], 1),
        (["/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/sm_30_intrinsics.hpp", "helper.h", "main.cu"], 1),
        ([r"C:\CUDA\v13.0\include\cub\block.cuh", r"C:\work\main.cu"], 1),
        (["/env/project/include/helper.cuh", "main.cu"], 0),
        (["/src/triton/python/triton/language/standard.py", "/src/sums.py"], 1),
        (["functor.cu", "/usr/include/thrust/for_each.h"], 0),
        ([PACKAGES + "triton/language/core.py", PACKAGES + "liger/rope.py", PACKAGES + "liger/ops.py"], 1),
        ([PACKAGES + "triton/language/core.py", PACKAGES + "triton/language/standard.py"], 0),
    ],
)
def test_the_users_line_is_outside_of_the_libraries_that_the_kernel_calls(files: list[str], user: int) -> None:
    frames = [Frame(file, line, "f") for line, file in enumerate(files, 1)]
    assert user_frame(frames) is frames[user]


LISTING = f"""{HEADER}.entry k() {{ .loc 1 5 3
ret; }}
.file 1 "first.cu"
{HEADER}.entry k() {{ .loc 1 6 3
ret; }}
.file 1 "second.cu"
"""


def test_each_module_of_a_listing_has_its_own_files() -> None:
    assert instruction_frames(parse(LISTING)) == [(Frame("first.cu", 5, "k"),), (Frame("second.cu", 6, "k"),)]


def test_check_shows_the_source_line_of_a_faulty_instruction() -> None:
    body = ".loc 1 9 3\n.loc 2 2 7, function_name $s, inlined_at 1 9 3\nadd.s33 %r0, %r0, %r0;\n.loc 1 10 3\nret;"
    text = f"{HEADER}.entry k() {{ .reg .b32 %r<2>;\n{body}\n}}\n{STRINGS}"
    (found,) = check_text(text, "k.ptx")
    assert found.origin == (Frame("b.h", 2, "f"), Frame("a.cu", 9, "k"))
    notes = [line for line in shown(found, Source(text, "k.ptx")).splitlines() if line.startswith("note: ")]
    assert notes == ["note: at b.h:2 in f", "note: called from a.cu:9 in k"]
    ptx, source = found.problem("k.ptx").positions
    assert (ptx.file, str(source), [str(each) for each in source.callers]) == ("k.ptx", "b.h:2", ["a.cu:9"])


def test_a_fault_outside_of_instructions_has_no_source_line() -> None:
    (found,) = check_text(f"{HEADER}.entry k() {{ .loc 1 9 3\nret;\n.reg .b33 %r; }}\n{STRINGS}")
    assert found.origin == ()


COMMENTED = '.file 1 "/src/a.cu"\n.file 2 "/src/lib/b.h"\n.file 3 "/other/b.h"\n.file 4 "./x/c.h"\n'


@pytest.mark.parametrize(
    ("comment", "callers"),
    [
        ("// x/c.h:5:1 @[ a.cu:9:3 ]", [("/src/a.cu", 9, "k")]),
        ("// x/c.h:5:1 @[ lib/b.h:7:1 @[ a.cu:9:3 ] ]", [("/src/lib/b.h", 7, ""), ("/src/a.cu", 9, "k")]),
        ("// x/c.h:5:1 @[ ./x/c.h:7:1 @[ a.cu:0:0 ] ]", [("./x/c.h", 7, "")]),
        ("// x/c.h:5:1 @[ a.cu:7:1 @[ b.h:9:3 ] ]", [("/src/a.cu", 7, "k")]),
        ("// x/c.h:5:1 @[ unknown.cu:9:3 ]", []),
        ("// x/c.h:5:1", []),
        ("// call(x @[ a.cu:9:3 ]", []),
        ("\n// x/c.h:5:1 @[ a.cu:9:3 ]", []),
    ],
)
def test_a_comment_of_llvm_shows_the_inlined_calls(comment: str, callers: list[tuple[str, int, str]]) -> None:
    ((first, *others),) = frames_of(f".loc 4 5 1 {comment}\nret;", COMMENTED)
    assert first == ("./x/c.h", 5, "" if callers else "k")
    assert others == callers


def test_comments_and_inlined_at_show_the_same_calls() -> None:
    """Remove every `inlined_at` of a module whose comments have the calls, too, as LLVM did before release 23."""
    body = ".loc 1 9 3\n.loc 2 5 1, function_name $s, inlined_at 1 9 3 // b.h:5:1 @[ a.cu:9:3 ]\nret;"
    with_both, with_comments = frames_of(body), frames_of(re.sub(", function_name.*? //", " //", body))
    assert [[each[:2] for each in frames] for frames in with_both] == [[("b.h", 5), ("a.cu", 9)]]
    assert [[each[:2] for each in frames] for frames in with_comments] == [[("b.h", 5), ("a.cu", 9)]]
