"""Long files contain their bodies as text: verified in bounded memory, each error at its own line.

`PYPTX_KERNELS=all` puts each wrong line into both pieces; by default two wrong lines are in one file.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tools.shares import full

from pyptx_ir.plugins.rows import SugarRule
from pyptx_transpile import Rewrite, transpile
from pyptx_transpile.printing.long_files import MOST_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body

pytestmark = pytest.mark.scaled

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry long()\n{\n\t.reg .b32 %r<9>;\n\n"
LINES = MOST_LINES + 1_000
WRONG = {"mul.lo.s32": 3_000, "shl.b32": LINES - 500}
"""Opcodes that this test's deliberately wrong rules rewrite, with their line numbers in the function body."""
PRINTED = ["ptx.inst.sub.s32(r[1], r[1], 1)", "pass", "1 / 0", "nothing()", "add %r1 %r1", "ptx.inst.ret("]
PAIRS = list(zip(PRINTED[::2], PRINTED[1::2], strict=True))
MB = 100
"""Peak memory limit. Transpiling 660 kB of PTX takes 65 MB; 250 MB if CPython compiles the function as a whole."""
STATUS = "print(open('/proc/self/status').read())"  # `ru_maxrss` would start at the peak memory of the parent


def long_text(lines: int) -> str:
    """Return a module of one function with this number of lines, among them the instructions of WRONG."""
    body = ["\tadd.s32 %r1, %r2, 3;\n"] * lines
    for opcode, at in WRONG.items():
        body[at] = f"\t{opcode} %r1, %r2, 3;\n"
    return f"{HEAD}{''.join(body)}\tret;\n}}\n"


@cache
def plain(source: str) -> str:
    """Return the Python that the transpiler prints for PTX text without rewrite rules."""
    return transpile(source).text


def peak(program: str, text: str) -> float:
    """Return the peak memory of a program in MB."""
    command = [sys.executable, "-B", "-c", f"import sys; {program}; {STATUS}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found = next(line for line in done.stdout.splitlines() if line.startswith("VmHWM:"))
    return int(found.split()[1]) / 1024


def rule(printed: Callable[[BodyPrinter, int], str]) -> SugarRule:
    """Return a rule that prints the two instructions of WRONG as `printed` returns them."""

    def find(body: Body, _plan: RewritePlan) -> Iterator[Rewrite]:
        for at in range(body.start, body.end):
            node = body.instruction(at)
            if node is not None and ".".join(node.opcode) in WRONG:

                def write(printer: BodyPrinter, _slots: tuple[Slot, ...], at: int = at) -> None:
                    printer.page.line(printed(printer, at))

                yield Rewrite("wrong", at, at + 1, write, opens=0)

    return SugarRule("wrong", "…", "…", "…", find)


@pytest.mark.parametrize(("first", "last"), full([(line, line) for line in PRINTED], default=PAIRS))
@pytest.mark.long
def test_what_is_wrong_in_any_piece_is_rejected_there(first: str, last: str) -> None:
    source = long_text(LINES)
    done = transpile(source, (rule(lambda _printer, at: first if at < LINES // 2 else last),))
    assert sorted(each.statement.split()[0] for each in done.rejected) == sorted(WRONG)
    assert done.applied["wrong"] == 0
    assert done.text == plain(source)


@pytest.mark.long
def test_what_is_right_in_every_piece_stays() -> None:
    done = transpile(long_text(LINES), (rule(lambda printer, at: printer.guarded(at, "None")),))
    assert done.applied["wrong"] == len(WRONG)
    assert done.rejected == ()


@pytest.mark.long
def test_a_long_function_is_proved_in_little_memory() -> None:
    text = long_text(30_000)
    assert len(text) > 600_000
    assert peak("from pyptx_transpile import transpile; transpile(sys.stdin.read())", text) < MB


def test_a_body_with_both_kinds_of_quotes_is_no_text() -> None:
    source = long_text(LINES).replace("\tret;", "\t/* \"\"\" */ ret;\n\t/* ''' */ ret;")
    assert "text_body" not in transpile(source, verify=False).text
