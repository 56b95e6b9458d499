"""The generated instruction pages: every Python example emits the PTX shown with it, and every page is in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyptx_dsl import ptx
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.tracing.trace import Trace, tracing
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.reference.entries import ELSEWHERE, entries
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import nodes, parse_instruction, spell
from pyptx_ir.syntax.operands import Register

PAGES = Path(__file__).parents[1] / "docs" / "instructions"
INDEX = (PAGES / "index.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\| \[`([^`]+)`\]\(([^)]+)\) \| (.*) \|$", INDEX, re.MULTILINE)
EXAMPLES = re.compile(r"```pyptx\n(?P<ptx>[^`]*)```\n\nThe same instructions in Python:\n\n```py\n(?P<python>[^`]*)```")
ENTRIES = [entry for entry in entries(manager().instructions()) if entry.chapter != ELSEWHERE]
REGISTER = re.compile(r"%([a-z]\w*)")

# Targets and PTX versions that together have every instruction form: newest targets, and targets with removed forms.
MACHINES = (
    *((name, (9, 5)) for name in ("sm_90a", "sm_100a", "sm_103a", "sm_107a", "sm_110a", "sm_120a")),
    *(("sm_70", (6, 2)), ("sm_60", (6, 3))),
)


def examples(page: str) -> list[tuple[str, str]]:
    """Return the examples of a page in PTX, each with its Python."""
    found = EXAMPLES.search((PAGES / page).read_text(encoding="utf-8"))
    assert found, page
    return list(zip(found["ptx"].splitlines(), found["python"].splitlines(), strict=True))


def emitted(python: str, names: dict[str, object]) -> str:
    """Return the PTX of a call for the first target that has the instruction; raise the error of the last target."""
    refused: PyptxError | None = None
    for target, version in MACHINES:
        trace = Trace("page", target, version)
        try:
            with tracing(trace):
                eval(python, dict(names))  # noqa: S307 - the repository's own pages
        except PyptxError as error:
            refused = error
            continue
        (node,) = trace.root_scope.nodes
        assert isinstance(node, nodes.Instruction)
        return spell(node)
    raise AssertionError(python) from refused


@pytest.mark.parametrize("page", [page for _, page, _ in LISTED])
def test_an_example_in_python_emits_the_ptx_beside_it(page: str) -> None:
    for text, python in examples(page):
        registers = {name: Register(f"%{name}") for name in REGISTER.findall(text)}
        names: dict[str, object] = {"ptx": ptx, "PipeRef": PipeRef, **registers}
        assert emitted(python, names) == spell(parse_instruction(text))


def test_the_index_lists_every_page_and_no_other() -> None:
    assert sorted(page for _, page, _ in LISTED) == sorted({path.name for path in PAGES.glob("*.md")} - {"index.md"})
    summaries = {entry.name: entry.summary for entry in ENTRIES}
    assert all(summaries[name] == summary for name, _, summary in LISTED)
    assert f"## {ELSEWHERE}" not in INDEX


def test_every_instruction_of_the_manual_has_a_page() -> None:
    assert {name for name, _, _ in LISTED} == {entry.name for entry in ENTRIES}
