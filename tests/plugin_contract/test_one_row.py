"""A plugin adds an instruction by one row of the instruction table and one Python function.

Check, docs, stub, wrapper and simulator use both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Run

ROW = 'row("foo.b32 d, a", summary="Reverse the bytes of a word.")'
FUNCTION = "def foo(a):\n    return a.byteswap()\n"
PLUGIN = """
from pyptx_ir.isa.rows import row
from pyptx_ir.plugins import API_VERSION, Semantics, hookimpl

{function}

@hookimpl
def pyptx_api_version():
    return API_VERSION

@hookimpl
def pyptx_instructions():
    return [{row}]

@hookimpl
def pyptx_semantics():
    return [Semantics("foo", compute=foo)]
"""
KERNEL = """
import numpy as np
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import b32, b64, u32

@kernel(in_specs=(Tile("N", u32),), out_specs=(Tile("N", u32),), grid=1, block=(32, 1, 1), arch="sm_80")
def swap(X, Y):
    px, py = ptx.global_ptrs(X, Y)
    tid = reg.from_(ptx.special.tid.x(), u32)
    d, a = reg.scalar(b32), reg.scalar(b32)
    ptx.inst.ld.global_.b32(a, ptx.addr(px + tid * 4))
    CALL
    ptx.inst.st.global_.b32(ptx.addr(py + tid * 4), d)
    ptx.ret()

x = np.arange(32, dtype=np.uint32) * np.uint32(0x01020304)
"""
# Rows with modifiers to choose, several operand kinds, unusual operand positions; and the results for words a and b.
FORMS = {
    'row("foo.wide.type d, a", type=("b32", "u32"), operands={"d": "wide(type)"})': (
        "def foo(a):\n    return a.astype('u8') << np.uint64(32)\n",
        "ptx.inst.foo.wide.u32(wide, a); ptx.inst.shr.u64(wide, wide, 32); ptx.inst.cvt.u32.u64(d, wide)",
        "x",
    ),
    'row("foo{.mode}.b32 d, a, b", mode=("swap", "keep"), operands={"b": "int32"})': (
        "def foo(a, b, *, mode):\n    return (a.byteswap() if mode == 'swap' else a) + b + np.uint32(mode == '')\n",
        "ptx.inst.foo.swap.b32(a, a, 7); ptx.inst.foo.keep.b32(a, a, 8); ptx.inst.foo.b32(d, a, 9)",
        "x.byteswap() + np.uint32(25)",
    ),
    'row("foo.v2.b32 d, a", operands={"d": "vec(b32)"})': (
        "def foo(a):\n    return a + np.uint32(1), a - np.uint32(1)\n",
        "ptx.inst.foo.v2.b32([d, e], a); ptx.inst.xor.b32(d, d, e)",
        "(x + np.uint32(1)) ^ (x - np.uint32(1))",
    ),
    'row("foo.b32 d|p, a, q")': (
        "def foo(a, q):\n    return np.where(q, ~a, a), q ^ (a % 3 == 0)\n",
        'ptx.inst.setp.lt.u32(p, tid, 9); ptx.inst.foo.b32(f"{d.name}|{q.name}", a, p); ptx.inst.selp.b32(d, d, 5, q)',
        "np.where((tid < 9) ^ (x % 3 == 0), np.where(tid < 9, ~x, x), 5)",
    ),
    'row("foo.b32 a, d, e", access="rwx", operands={"a": "b32", "d": "b32", "e": "b32"})': (
        "def foo(a, e):\n    return a * e, a + e\n",
        "ptx.inst.mov.b32(e, tid); ptx.inst.foo.b32(a, d, e); ptx.inst.xor.b32(d, d, e)",
        "(x * tid) ^ (x + tid)",
    ),
}


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """Write the plugin as the module `foo_plugin`, and return its path."""
    path = tmp_path / "foo_plugin.py"
    path.write_text(PLUGIN.format(row=ROW, function=FUNCTION), encoding="utf-8")
    return path


def kernel(call: str, more: str = "") -> str:
    """Return the Python source of a kernel that contains `call`, followed by `more`."""
    return KERNEL.replace("CALL", call) + more


def refused(ask: str) -> str:
    """Return a script that prints the error that a call raises."""
    return f"from pyptx_ir.errors import PyptxError\ntry:\n    {ask}\nexcept PyptxError as error:\n    print(error)"


def test_the_plugin_is_whole(run: Run, plugin: Path) -> None:
    run("from pyptx_ir.plugins.testing import check_plugin\ncheck_plugin('foo_plugin')")
    hooks = [line for line in plugin.read_text(encoding="utf-8").splitlines() if line.startswith("def pyptx_")]
    assert hooks == ["def pyptx_api_version():", "def pyptx_instructions():", "def pyptx_semantics():"]


@pytest.mark.usefixtures("plugin")
def test_it_is_documented(run: Run) -> None:
    script = "from pyptx_ir.commands import main\nassert main(['isa', 'foo']) == 0"
    assert run(script, PYPTX_PLUGINS="foo_plugin") == (
        "foo (Other instructions)\n"
        "  Reverse the bytes of a word.\n"
        "\n"
        "  PTX 1.0, any target\n"
        "    foo.b32 d, a;\n"
        "      d  written: a register of type .b32\n"
        "      a  read: a register or literal of type .b32\n"
    )


@pytest.mark.usefixtures("plugin")
def test_the_stub_names_it(run: Run) -> None:
    script = """
from pyptx_dsl.stubs.parts import CORE, by_stub
from pyptx_dsl.stubs.stub import write_stubs
from pyptx_ir.plugins.manager import manager
print(write_stubs(by_stub(manager().instructions_by_package()))[CORE])
"""
    printed = run(script, PYPTX_PLUGINS="foo_plugin")
    found = printed.partition("class Foo:\n")[2].partition("\nclass ")[0]
    assert "def b32(self, d: Result, a: Value, /, *, pred: Guard = None) -> Reg:" in found
    assert "Reverse the bytes of a word." in found


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("call", ["ptx.inst.foo.b32(d, a)", "ptx.foo(b32, d, a)"])
def test_its_wrapper_traces_and_the_simulator_computes_it(run: Run, call: str) -> None:
    ask = """
print(swap.ptx(N=32))
assert (swap(x) == x.byteswap()).all() and x.any()
assert swap.simulate(x, checks="all").findings == ()
"""
    assert run(kernel(call, ask), PYPTX_PLUGINS="foo_plugin").count("foo.b32 ") == 1


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("ptx.inst.foo.b32(d, px)", "operand 2 of foo.b32, `%rd0`, is a .u64 register; it must be a .b32"),
        ("ptx.inst.foo.b32(d)", "foo.b32 has 1 operand; it takes 2: d, a"),
        ("ptx.inst.foo.b64(d, a)", "help: use the form foo.b32 d, a"),
        ("ptx.foo(b64, d, a)", "ptx.foo has no form for .b64"),
    ],
)
def test_the_check_refuses_what_the_row_does_not_say(run: Run, call: str, said: str) -> None:
    assert said in run(kernel(call, refused("swap.ptx(N=32)")), PYPTX_PLUGINS="foo_plugin")


@pytest.mark.parametrize("row", FORMS)
def test_operands_types_and_words_are_those_of_the_row(run: Run, tmp_path: Path, row: str) -> None:
    function, call, expected = FORMS[row]
    text = PLUGIN.format(row=row, function=function.replace("    return", "    import numpy as np\n    return"))
    (tmp_path / "foo_plugin.py").write_text(text, encoding="utf-8")
    setup = "e, wide = reg.scalar(b32), reg.scalar(b64); p, q = reg.scalar(pred), reg.scalar(pred); "
    script = kernel(setup + call).replace("b32, b64", "b32, b64, pred")
    ask = f"tid = np.arange(32, dtype=np.uint32)\nexpected = {expected}\nassert (swap(x) == expected).all(), swap(x)"
    run(f"{script}\n{ask}\nassert expected.any()", PYPTX_PLUGINS="foo_plugin")


def test_a_function_may_be_chosen_by_the_form(run: Run, tmp_path: Path) -> None:
    function = """
def foo(form):
    from pyptx_sim.semantics.operations import constant, operation

    number = constant(form, "n")
    return operation(form, lambda a: a + number if form.word("mode") == "up" else a - number, unread=("n",))
"""
    row = 'row("foo{.mode}.b32 d, a, n", mode=("up", "down"), operands={"n": "imm"})'
    text = PLUGIN.format(row=row, function=function).replace("compute=foo", "bind=foo")
    (tmp_path / "foo_plugin.py").write_text(text, encoding="utf-8")
    script = kernel("ptx.inst.foo.up.b32(a, a, 9); ptx.inst.foo.down.b32(d, a, 2)", "assert (swap(x) == x + 7).all()")
    run(script, PYPTX_PLUGINS="foo_plugin")


def test_forms_of_an_opcode_that_others_have_are_told_apart_by_their_section(run: Run, tmp_path: Path) -> None:
    row = 'row("add.foo.b32 d, a, b", manual="add (foo)"), row("add.bar.b32 d, a, b", manual="add (bar)")'
    function = "def foo(a, b):\n    return a.byteswap() + b\n"
    text = PLUGIN.format(row=row, function=function).replace('"foo", compute', '"add", manual="add (foo)", compute')
    (tmp_path / "foo_plugin.py").write_text(text, encoding="utf-8")
    call = "ptx.inst.add.foo.b32(d, a, 1); ptx.inst.add.u32(d, d, 2)"
    run(kernel(call, "assert (swap(x) == x.byteswap() + np.uint32(3)).all()"), PYPTX_PLUGINS="foo_plugin")
    said = run(kernel("ptx.inst.add.bar.b32(d, a, 1)", refused("swap(x)")), PYPTX_PLUGINS="foo_plugin")
    assert "no simulator semantics for add.bar.b32" in said


@pytest.mark.parametrize(
    ("row", "function", "said"),
    [
        (
            'row("foo.b32 d, a", operands={"a": "any"})',
            "def foo(a):\n    return a\n",
            "no type for operand a (any) in instruction-table row 'foo.b32 d, a'",
        ),
        (
            ROW,
            "def foo(a, *, mode):\n    return a\n",
            "semantics of foo: unknown modifier slot 'mode'",
        ),
    ],
)
def test_what_the_row_does_not_tell_is_an_error_that_says_so(
    run: Run, tmp_path: Path, row: str, function: str, said: str
) -> None:
    (tmp_path / "foo_plugin.py").write_text(PLUGIN.format(row=row, function=function), encoding="utf-8")
    assert said in run(kernel("ptx.inst.foo.b32(d, a)", refused("swap(x)")), PYPTX_PLUGINS="foo_plugin")
