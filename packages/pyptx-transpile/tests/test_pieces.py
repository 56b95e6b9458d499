"""Long functions are proved piece by piece: in bounded memory, and every fault at its own line."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile import Claim, ProofError, transpile
from pyptx_transpile.pieces import LINES, Pieces, ReboundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_transpile.body_printer import BodyPrinter
    from pyptx_transpile.plan import Plan, Slot
    from pyptx_transpile.rows import Body

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry long()\n{\n\t.reg .b32 %r<9>;\n\n"
WRONG = {"mul.lo.s32": 3 * LINES // 2, "shl.b32": 5 * LINES // 2}
"""Instructions in pieces behind the first, and the lines of the body on which they stand."""
MB = 100
"""A module of 660 kB takes 65 MB piece by piece, and 250 MB where its function is compiled as a whole."""


def long_text(lines: int) -> str:
    """Return a module of one function."""
    body = ["\tadd.s32 %r1, %r2, 3;\n"] * lines
    for opcode, at in WRONG.items():
        body[at] = f"\t{opcode} %r1, %r2, 3;\n"
    return f"{HEAD}{''.join(body)}\tret;\n}}\n"


def call(body: Callable[[str], object]) -> object:
    """Run a body as the decorators of a module do."""
    return body("b")


def rule(printed: Callable[[BodyPrinter, int], str]) -> SugarRule:
    """Return a rule that prints the two instructions in its own way."""

    def find(body: Body, _plan: Plan) -> Iterator[Claim]:
        for at in range(body.start, body.end):
            node = body.instruction(at)
            if node is not None and ".".join(node.opcode) in WRONG:

                def write(printer: BodyPrinter, _slots: tuple[Slot, ...], at: int = at) -> None:
                    printer.page.line(printed(printer, at))

                yield Claim("wrong", at, at + 1, write, opens=0)

    return SugarRule("wrong", "…", "…", "…", find)


@pytest.mark.parametrize(
    "line", ["ptx.inst.sub.s32(r[1], r[1], 1)", "pass", "1 / 0", "nothing()", "add %r1 %r1", "ptx.inst.ret("]
)
def test_what_is_wrong_in_any_piece_is_withdrawn_there(line: str) -> None:
    source = long_text(3 * LINES)
    done = transpile(source, (rule(lambda _printer, _at: line),))
    assert sorted(each.statement.split()[0] for each in done.withdrawn) == sorted(WRONG)
    assert done.applied["wrong"] == 0
    assert done.text == transpile(source).text


def test_what_is_right_in_every_piece_stays() -> None:
    done = transpile(long_text(3 * LINES), (rule(lambda printer, at: printer.guarded(at, "None")),))
    assert done.applied["wrong"] == len(WRONG)
    assert done.withdrawn == ()


def test_a_piece_ends_where_no_block_is_open() -> None:
    group = ["    x = [", "        a,", "    ]", "    if not x:", "        a()", "    else:", "        done.append(x)"]
    names: dict[str, Any] = {"call": call, "done": []}
    Pieces(["@call", "def f(a):", *group * LINES], 2, "<f>").run(names)
    assert names["done"] == [["b"]] * LINES


def test_a_variable_with_a_name_of_the_file_is_told() -> None:
    names: dict[str, Any] = {"outer": 1, "call": call}
    with pytest.raises(ReboundError, match="outer"):
        Pieces(["@call", "def f(a):", "    outer = a"], 2, "<f>").run(names)
    assert names["outer"] == 1


def test_a_function_with_such_a_variable_is_compiled_as_a_whole() -> None:
    harmless = rule(lambda printer, at: f"module = 1; {printer.guarded(at, 'None')}")
    assert transpile(long_text(3 * LINES), (harmless,)).applied["wrong"] == len(WRONG)
    harmful = rule(lambda printer, at: f"reg = reg; {printer.guarded(at, 'None')}")
    with pytest.raises(ProofError) as caught:
        transpile(long_text(3 * LINES), (harmful,))
    assert isinstance(caught.value.__cause__, UnboundLocalError)


def test_a_long_function_is_proved_in_little_memory() -> None:
    program = (
        "import sys; from pyptx_transpile import transpile; transpile(sys.stdin.read());"
        "print(open('/proc/self/status').read())"  # `ru_maxrss` begins with what the parent had
    )
    text = long_text(30_000)
    assert len(text) > 600_000
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=True)
    peak = next(line for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    assert int(peak.split()[1]) / 1024 < MB
