"""Generated operands, calls and sections: `pyptx check` reports an error exactly where ptxas does.

    python -m tests.oracle.generated                2,000 statements, every call, 600 sections
    … --ptxas PATH …                                compare with each of these (default: the one found)
    … --seed N --show N                             seed of the cases, and number of differences to print

Prints, for each kind, the numbers of cases on which check and ptxas agree, and of listed differences. Exits with 1 if a
difference is not listed in `known_generated`, or, for statements, in `known`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules import check_text
from pyptx_ir.toolchain.diagnostics import parse_log
from pyptx_ir.toolchain.finder import Tool, find_tool, tool_version
from pyptx_ir.toolchain.runner import run

from . import known_generated
from .call_types import calls
from .operands import statements
from .ptxas import PROCESSES, Assembler
from .report import laxer, stricter
from .section_lines import sections

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TARGET, VERSION = "sm_90a", (9, 0)
STATEMENTS, SECTIONS = 2000, 600
AT_ONCE = 200  # statements per file; ptxas stops at a syntax error: statements after it go to another file


@dataclass(frozen=True, slots=True)
class Case:
    """Statement or module with the errors of `pyptx check` and of ptxas; `listed`: a known difference explains it."""

    kind: str
    text: str
    ours: str | None
    theirs: str | None

    @property
    def differs(self) -> bool:
        """Whether only one of `pyptx check` and ptxas accepts the case."""
        return (self.ours is None) != (self.theirs is None)

    @property
    def listed(self) -> bool:
        """Whether a reviewed list explains the difference between `pyptx check` and ptxas."""
        line = f"{self.text} | {self.ours or ''} | {self.theirs or ''}"
        own = known_generated.LAXER if self.ours is None else known_generated.STRICTER
        of_statements = laxer() if self.ours is None else stricter()
        patterns = (*own, *of_statements) if self.kind == "operand" else tuple(own)
        return any(re.search(pattern, line) for pattern in patterns)

    def __str__(self) -> str:
        """Return the text of the case, and the verdicts of `pyptx check` and ptxas."""
        return f"{self.kind}: {self.text}\n  check: {self.ours}\n  ptxas: {self.theirs}"


def of_statements(tool: Tool, texts: Sequence[str]) -> list[Case]:
    """Check statements with ptxas, many in a file, and each statement with a difference again in its own file."""
    assembler = Assembler(tool, TARGET, VERSION)
    parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    theirs: dict[str, str | None] = {}
    with ThreadPoolExecutor(PROCESSES) as pool:
        for said in pool.map(assembler.verdicts, parts):
            theirs |= said
    ours = {text: _alone(assembler, text) for text in texts}
    asked = [text for text in texts if (ours[text] is None) != (theirs[text] is None)]
    theirs |= {text: assembler.alone(text) for text in asked}
    return [Case("operand", text, ours[text], theirs[text]) for text in texts]


def _alone(assembler: Assembler, text: str) -> str | None:
    return _complaint(assembler.module([text]))


def of_modules(tool: Tool, kind: str, texts: Sequence[str]) -> list[Case]:
    """Check modules with `pyptx check` and with ptxas."""
    with ThreadPoolExecutor(PROCESSES) as pool:
        theirs = pool.map(partial(refusal, tool), texts)
        return [Case(kind, text, _complaint(text), said) for text, said in zip(texts, theirs, strict=True)]


def refusal(tool: Tool, text: str) -> str | None:
    """Return the first error of ptxas about a module, or None."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        outcome = run(tool, [f"-arch={TARGET}", "-O0", "m.ptx", "-o", "m.o"], Path(folder))
    errors = [remark.message for remark in parse_log(outcome.output) if remark.is_error]
    return (errors[0] if errors else outcome.output or f"exit status {outcome.status}") if outcome.status else None


def _complaint(text: str) -> str | None:
    return next((f"{one.code}: {one.message}" for one in check_text(text) if one.is_error), None)


def judged(tool: Tool, seed: int, *, share: int = 1) -> list[Case]:
    """Compare `pyptx check` with a ptxas on 1 in `share` of the generated cases."""
    return [
        *of_statements(tool, statements(seed, STATEMENTS // share)),
        *of_modules(tool, "call", calls()[seed % share :: share]),
        *of_modules(tool, "section", sections(seed, SECTIONS // share)),
    ]


def table(cases: Iterable[Case]) -> str:
    """Return the counts of cases by kind as text."""
    counts = Counter((case.kind, _outcome(case)) for case in cases)
    columns = ("accepted", "refused", "listed", "open")
    lines = [f"{'kind':10} " + " ".join(f"{name:>9}" for name in columns)]
    lines += [
        f"{kind:10} " + " ".join(f"{counts[kind, name]:9}" for name in columns)
        for kind in ("operand", "call", "section")
    ]
    return "\n".join(lines)


def _outcome(case: Case) -> str:
    if case.differs:
        return "listed" if case.listed else "open"
    return "accepted" if case.ours is None else "refused"


def main() -> int:
    """Compare `pyptx check` and ptxas, print the counts and the differences, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ptxas", nargs="*", type=Path, default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=40)
    options = parser.parse_args()
    tools = [Tool("ptxas", path, tool_version(path)) for path in options.ptxas] or [find_tool("ptxas")]
    cases = [case for tool in tools for case in judged(tool, options.seed)]
    differing = [case for case in cases if case.differs and not case.listed]
    sys.stdout.write("".join(f"{case}\n" for case in differing[: options.show]))
    sys.stdout.write(f"{table(cases)}\n")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
