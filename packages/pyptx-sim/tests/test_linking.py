"""Several PTX modules linked as one program. Conflicts between names are compared with nvlink, if it is installed."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pyptx_ir.toolchain.finder import find_tool
from pyptx_sim import run
from pyptx_sim.errors import ProgramError

if TYPE_CHECKING:
    from pathlib import Path

    from pyptx_sim import Result

HEADER = ".version 8.5\n.target sm_90a\n.address_size 64\n"
DECLARE_F = ".extern .func (.param .b32 r) f(.param .b32 a);"
CALL = "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), NAME, (a); ld.param.b32 %r1, [r]; }"
CALL_F = CALL.replace("NAME", "f")


def entry(body: str) -> str:
    """Return an entry that sets %r1 to 1 before the body and stores %r1 after the body."""
    return (
        ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
        f"ld.param.u64 %rd1, [out];\nmov.u32 %r1, 1;\n{body}\nst.global.u32 [%rd1], %r1;\nret;\n}}"
    )


def function(name: str, body: str, linking: str = ".visible") -> str:
    """Return a `.func` with one word as parameter, whose body computes the result in %r1."""
    return (
        f"{linking} .func (.param .b32 r) {name}(.param .b32 a) {{\n.reg .b32 %r<9>;\n"
        f"ld.param.b32 %r1, [a];\n{body}\nst.param.b32 [r], %r1;\nret;\n}}"
    )


def linked(*texts: str) -> tuple[int, Result]:
    """Run linked modules, and return the word that they store."""
    out = np.zeros(1, np.uint32)
    result = run([HEADER + text for text in texts], grid=1, block=1, args=[out])
    return int(out[0]), result


def value(*texts: str) -> int:
    """Return the word that linked modules store; assert that the run has no finding."""
    word, result = linked(*texts)
    assert result.findings == ()
    return word


def test_a_function_of_another_module_is_called() -> None:
    assert value(DECLARE_F + entry(CALL_F), function("f", "add.u32 %r1, %r1, 41;")) == 42


def test_calls_go_back_and_forth_between_modules() -> None:
    there = DECLARE_F + entry(CALL_F) + function("g", "mul.lo.u32 %r1, %r1, 3;")
    back = DECLARE_F.replace(" f(", " g(") + function("f", CALL.replace("NAME", "g") + "add.u32 %r1, %r1, 4;")
    assert value(there, back) == 7


@pytest.mark.parametrize("space", ["global", "const"])
def test_a_variable_of_another_module_is_read(space: str) -> None:
    use = f".extern .{space} .u32 x;" + entry(f"ld.{space}.u32 %r1, [x];")
    assert value(use, f".visible .{space} .u32 x = 9;") == 9


def test_modules_share_a_variable_and_shared_memory() -> None:
    """One module reads the words that the other one writes, whichever of them defines the variable."""
    use = ".extern .global .u32 x; .extern .shared .u32 s[4];" + DECLARE_F
    body = f"st.global.u32 [x], 30; st.shared.u32 [s+8], 12; {CALL_F}"
    add = "ld.global.u32 %r2, [x]; ld.shared.u32 %r3, [s+8]; add.u32 %r1, %r2, %r3;"
    defined = ".visible .global .u32 x; .visible .shared .u32 s[4];" + function("f", add)
    assert value(use + entry(body), defined) == 42
    assert value(defined, use + entry(body)) == 42


def test_an_initializer_names_what_another_module_defines() -> None:
    use = ".extern .global .u32 x[3]; .global .u64 p = generic(x) + 8;"
    body = "ld.global.u64 %rd2, [p]; ld.u32 %r1, [%rd2];"
    assert value(use + entry(body), ".visible .global .u32 x[3] = {5, 6, 7};") == 7


def test_names_without_a_linking_directive_stay_apart() -> None:
    """Each module has its own `helper` and `x`, in addition to the visible ones of a third module."""
    first = ".global .u32 x = 10;" + function("helper", "ld.global.u32 %r2, [x]; add.u32 %r1, %r1, %r2;", "")
    second = ".global .u32 x = 200;" + function("helper", "ld.global.u32 %r2, [x]; add.u32 %r1, %r1, %r2;", "")
    third = ".visible .global .u32 x = 4000;" + function("helper", "add.u32 %r1, %r1, 30000;")
    both = CALL.replace("NAME", "helper") + CALL_F
    assert value(first + DECLARE_F + entry(both), second + function("f", CALL.replace("NAME", "helper")), third) == 211


def test_a_visible_definition_comes_before_weak_ones() -> None:
    weak, strong = function("f", "mov.u32 %r1, 5;", ".weak"), function("f", "mov.u32 %r1, 6;")
    use = DECLARE_F + entry(CALL_F)
    assert value(use, weak) == 5
    assert value(use, weak, weak) == 5
    assert value(use, weak, strong) == value(use, strong, weak) == 6
    assert value(weak + entry(CALL_F), strong) == 6  # a call in the module of the weak `f` reaches the strong `f`


def test_common_variables_share_the_largest() -> None:
    use = ".common .global .u32 x;" + DECLARE_F + entry(CALL_F + "ld.global.u32 %r1, [x];")
    assert (
        value(use, ".common .global .u32 x[4];" + function("f", "st.global.u32 [x+12], 1; st.global.u32 [x], 7;")) == 7
    )


def test_an_alias_is_meant_by_other_modules() -> None:
    defined = function("g", "mov.u32 %r1, 3;") + "\n.visible .func (.param .b32 r) f(.param .b32 a);\n.alias f, g;"
    assert value(DECLARE_F + entry(CALL_F), defined) == 3


def test_dynamic_shared_memory_is_the_same_for_all_modules() -> None:
    out = np.zeros(1, np.uint32)
    use = ".extern .shared .u32 here[];" + DECLARE_F + entry(f"st.shared.u32 [here+4], 17; {CALL_F}")
    other = ".extern .shared .u32 there[];" + function("f", "ld.shared.u32 %r1, [there+4];")
    run([HEADER + use, HEADER + other], grid=1, block=1, shared_bytes=64, args=[out])
    assert out[0] == 17


CLASHES = {
    "defined twice": (
        (DECLARE_F + entry(CALL_F), function("f", ""), function("f", "")),
        "duplicate symbol f: defined in modules[1] and modules[2]",
    ),
    "an entry twice": ((entry(""), entry("")), "duplicate symbol k: defined in modules[0] and modules[1]"),
    "another prototype": (
        (DECLARE_F + entry(CALL_F), ".visible .func (.param .b32 r) f(.param .b64 a) { st.param.b32 [r], 7; ret; }"),
        ".func (4) of (8) bytes in modules[1], .func (4) of (4) bytes in modules[0]",
    ),
    "a variable for a function": (
        (DECLARE_F + entry(CALL_F), ".visible .global .u32 f = 1;"),
        "conflicting declarations of f",
    ),
    "another size": (
        (".extern .global .u32 x;" + entry("ld.global.u32 %r1, [x];"), ".visible .global .u32 x[2];"),
        ".global of 8 bytes in modules[1], .global of 4 bytes in modules[0]",
    ),
    "an undefined variable": (
        (".extern .global .u32 x;" + entry("ld.global.u32 %r1, [x];"), ".global .u32 x;"),
        "undefined symbol x, declared .extern in modules[0]",
    ),
    "an undefined function": ((DECLARE_F + entry(CALL_F), function("f", "", "")), "undefined function f"),
}
ACCEPTED = {
    "one definition": (DECLARE_F + entry(CALL_F), function("f", "")),
    "weak and visible": (DECLARE_F + entry(CALL_F), function("f", "", ".weak"), function("f", "")),
    ".common variables of two sizes": (
        ".common .global .u32 x[2];" + entry("ld.global.u32 %r1, [x];"),
        ".common .global .u32 x;",
    ),
    "a local and a visible variable of one name": (
        ".extern .global .u32 x;" + entry("ld.global.u32 %r1, [x];"),
        ".global .u32 x;",
        ".visible .global .u32 x;",
    ),
}


@pytest.mark.parametrize("name", CLASHES)
def test_what_does_not_link_is_named(name: str) -> None:
    texts, message = CLASHES[name]
    with pytest.raises(ProgramError) as caught:
        linked(*texts)
    assert message in caught.value.message


@pytest.mark.ptxas
@pytest.mark.parametrize("name", [*CLASHES, *ACCEPTED])
def test_nvlink_refuses_the_same(name: str, tmp_path: Path) -> None:
    texts = ACCEPTED[name] if name in ACCEPTED else CLASHES[name][0]
    objects = []
    for number, text in enumerate(texts):
        source, made = tmp_path / f"{number}.ptx", tmp_path / f"{number}.o"
        source.write_text(HEADER + text)
        subprocess.run([find_tool("ptxas").path, "-arch=sm_90a", "-c", source, "-o", made], check=True)
        objects.append(made)
    verdict = subprocess.run([find_tool("nvlink").path, "-arch=sm_90a", *objects, "-o", tmp_path / "all"], check=False)
    assert (verdict.returncode == 0) == (name in ACCEPTED)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_nvlink_takes_runs(name: str) -> None:
    linked(*ACCEPTED[name])


def test_a_function_without_a_body_is_missed_only_where_it_is_called() -> None:
    skipped = DECLARE_F + entry("bra behind;\n" + CALL_F + "\nbehind:")
    assert value(skipped) == value(skipped, ".visible .global .u32 x;") == 1
    with pytest.raises(ProgramError, match="undefined function f") as caught:
        linked(".visible .global .u32 x;", DECLARE_F + entry(CALL_F))
    assert "of modules[1], in k: call.uni (r), f, (a);" in str(caught.value)


def test_a_finding_says_whose_line_it_names() -> None:
    body = f"{CALL_F}\nld.global.u32 %r1, [x];\nmov.u32 %r1, 1;"
    reader = HEADER + ".extern .global .u32 x;" + DECLARE_F + entry(body)
    writer = HEADER + ".visible .global .u32 x;" + function("f", "mov.u32 %r2, %tid.x;\nst.global.u32 [x], %r2;")
    result = run([reader, writer], grid=1, block=64, args=[np.zeros(1, np.uint32)])
    (found,) = [each for each in result.findings if each.rule == "global-race" and each.module != each.other_module]
    places = {found.module: found.line, found.other_module: found.other_line}
    read, write = (text.splitlines()[(places[number] or 0) - 1] for number, text in enumerate((reader, writer)))
    assert (read, write) == ("ld.global.u32 %r1, [x];", "st.global.u32 [x], %r2;")
    assert all(f"PTX line {line} of modules[{module}]" in str(found) for module, line in places.items())
