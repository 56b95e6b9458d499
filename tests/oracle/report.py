"""Instruction table compared with ptxas: the confusion matrix, and every difference that no reviewed list explains."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.forms import register_type
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax import parse_instruction

from . import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cases import Case
    from .ptxas import Assembler

# Types and state spaces of the symbols that forms of instructions contain.
SYMBOLS: dict[str, str] = {
    "gmem": ".global",
    "smem": ".shared",
    "cmem": ".const",
    "lmem": ".local",
    "pp": ".param",
    "fp": ".param",
    "tmap": ".param",
    "tex0": ".texref",
    "smp0": ".samplerref",
    "surf0": ".surfref",
    "function": ".func",
    "done": ".label",
    "table": ".global",
    **dict.fromkeys(("branches", "prototype", "callees"), ".targets"),
}


def declared(name: str) -> str | None:
    """Return a symbol's state space or a register's type in a generated instruction; None for special registers."""
    return None if name in special_registers() else SYMBOLS.get(name) or register_type(name)


# Cached, because the same instruction is checked for many targets.
parsed = functools.lru_cache(maxsize=20_000)(parse_instruction)


def opinion(text: str, target: str, version: tuple[int, int]) -> str | None:
    """Return the instruction table's error message about an instruction, or None."""
    verdict = verdict_on(parsed(text), declared, target, version)
    return None if verdict is None else f"{verdict.code}: {verdict.message}"


@dataclass(frozen=True, slots=True)
class Difference:
    """An instruction that only the instruction table or only ptxas accepts, and the reviewed reason ('' if none)."""

    text: str
    target: str
    version: tuple[int, int]
    table: str | None
    ptxas: str | None
    reason: str

    def __str__(self) -> str:
        major, minor = self.version
        return f"{self.text}   [{self.target}, PTX {major}.{minor}]\n  table: {self.table}\n  ptxas: {self.ptxas}"


@dataclass(slots=True)
class Tally:
    """One cell of the confusion matrix: cases that table and ptxas both accept, both reject, and differences."""

    accepted: int = 0
    refused: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])

    @property
    def unexplained(self) -> list[Difference]:
        """Return the differences that no reviewed list explains."""
        return [difference for difference in self.differences if not difference.reason]

    @property
    def total(self) -> int:
        """Return the number of cases, without differences that a reviewed list explains."""
        return self.accepted + self.refused + len(self.unexplained)


class Report:
    """Confusion matrix of the instruction table and ptxas, by chapter and class of fault."""

    def __init__(self) -> None:
        self.cells: dict[tuple[str, str], Tally] = {}
        self.used: Counter[str] = Counter()

    def ask(self, assembler: Assembler, chapter_of: dict[str, str], cases: Sequence[Case]) -> None:
        """Check `cases` with the instruction table and ptxas, and count the results."""
        theirs = assembler.verdicts([case.text for case in cases])
        ours = {case.text: opinion(case.text, assembler.target, assembler.version) for case in cases}
        # ptxas performs some checks only if a file has no other errors.
        theirs |= assembler.verdicts([text for text, mine in ours.items() if mine is None and theirs[text] is None])
        for case in cases:
            mine, other = ours[case.text], theirs[case.text]
            reason = ""
            if (mine is None) != (other is None):
                reason = self._reason(case.text, mine, other)
                other = other if reason else assembler.alone(case.text)
            cell = self.cells.setdefault((chapter_of[case.row.name], case.fault), Tally())
            if (mine is None) == (other is None):
                cell.accepted += mine is None
                cell.refused += mine is not None
                continue
            reason = reason or self._reason(case.text, mine, other)
            cell.differences.append(Difference(case.text, assembler.target, assembler.version, mine, other, reason))

    def _reason(self, text: str, mine: str | None, theirs: str | None) -> str:
        line = f"{text} | {mine or ''} | {theirs or ''}"
        for pattern, reason in (stricter() if mine else laxer()).items():
            if re.search(pattern, line):
                self.used[pattern] += 1
                return reason
        return ""

    def differences(self) -> list[Difference]:
        """Return every difference that no reviewed list explains."""
        return [difference for cell in self.cells.values() for difference in cell.unexplained]

    def table(self) -> str:
        """Return the confusion matrix as text: a line per chapter and class of fault, and the totals."""
        lines = [f"{'chapter':28} {'class':20} {'accept':>7} {'refuse':>7} {'listed':>7} {'open':>5} {'agree':>8}"]
        sums: dict[str, Tally] = {}
        for (chapter, fault), cell in sorted(self.cells.items()):
            lines.append(_line(chapter, fault, cell))
            for key in (fault, "all"):
                total = sums.setdefault(key, Tally())
                total.accepted += cell.accepted
                total.refused += cell.refused
                total.differences += cell.differences
        lines += [_line("", fault, cell) for fault, cell in sorted(sums.items())]
        return "\n".join(lines)

    def agreement(self, fault: str | None = None) -> float:
        """Return the fraction of cases, without explained differences, on which instruction table and ptxas agree.

        `fault`: only the cases of this class of fault; None for all cases.
        """
        cells = [cell for (_, name), cell in self.cells.items() if fault in (None, name)]
        return 1 - sum(len(cell.unexplained) for cell in cells) / max(1, sum(cell.total for cell in cells))


def _line(chapter: str, fault: str, cell: Tally) -> str:
    listed = len(cell.differences) - len(cell.unexplained)
    agreement = 1 - len(cell.unexplained) / max(1, cell.total)
    return (
        f"{chapter:28} {fault:20} {cell.accepted:7} {cell.refused:7} {listed:7} "
        f"{len(cell.unexplained):5} {agreement:8.2%}"
    )


@functools.cache
def _lists() -> tuple[dict[str, str], dict[str, str]]:
    found: tuple[dict[str, str], dict[str, str]] = ({}, {})
    for module in pkgutil.iter_modules(known.__path__):
        chapter = importlib.import_module(f"{known.__name__}.{module.name}")
        for together, own in zip(found, (chapter.STRICTER, chapter.LAXER), strict=True):
            together.update(own)
    return found


def stricter() -> dict[str, str]:
    """Return the reviewed list of instructions that ptxas accepts and the instruction table rejects."""
    return _lists()[0]


def laxer() -> dict[str, str]:
    """Return the reviewed list of instructions that the instruction table accepts and ptxas rejects."""
    return _lists()[1]


def chapter_reasons(name: str = "STRICTER") -> dict[str, tuple[str, ...]]:
    """Return the reasons in the lists with this name, by chapter title."""
    modules = [importlib.import_module(f"{known.__name__}.{one.name}") for one in pkgutil.iter_modules(known.__path__)]
    listed = {(one.__doc__ or "").strip(): getattr(one, name) for one in modules}
    return {title: tuple(rows.values()) for title, rows in listed.items() if rows}
