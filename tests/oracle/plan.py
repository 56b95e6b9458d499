"""Choice of the oracle's cases that ptxas checks for each target and PTX version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_blackwell.table.chapters import CHAPTERS as BLACKWELL
from pyptx_arch_hopper.table.chapters import CHAPTERS as HOPPER
from pyptx_ir.isa.form_diagnostics import unavailable
from pyptx_ir.isa.table.chapters import CHAPTERS
from pyptx_ir.isa.target_rows import TARGETS
from pyptx_ir.isa.targets import includes
from pyptx_ir.plugins.manager import manager
from pyptx_ir.plugins.targets import find_target

from .cases import Case, cases_of
from .ptxas import Assembler

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from pyptx_ir.isa.rows import InstructionRow
    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_ir.toolchain.finder import Tool

OLDEST = 75  # the oldest target that ptxas 13 compiles for
BEFORE: dict[tuple[int, int], tuple[int, int]] = {(8, 0): (7, 8), (9, 0): (8, 8), (7, 0): (6, 5)}
FIRST_MINOR_OF_TURING = (6, 3)
FOREIGN = frozenset({"acme"})  # opcodes that only the tests' own plugin defines, unknown to ptxas


def chapters() -> dict[str, str]:
    """Return the chapter (file) of every row of the instruction table, by the row's name."""
    chapters = (*CHAPTERS, *HOPPER, *BLACKWELL)
    return {row.name: chapter.__name__.rpartition(".table.")[2] for chapter in chapters for row in chapter.ROWS}


def targets_of(newest: tuple[int, int]) -> list[TargetRow]:
    """Return the targets that a ptxas with PTX up to `newest` compiles for."""
    return [row for row in TARGETS if row.number >= OLDEST and not row.until and row.since <= newest]


def plan(
    tool: Tool, chosen: set[str], chance: random.Random, *, valid: int, broken: int
) -> Iterator[tuple[Assembler, list[Case]]]:
    """Yield each ptxas run with its cases, which are forms of the rows of the instruction table.

    - All cases of a row run on some targets that have the instruction.
    - Two valid forms of each row run on every target, in the row's first PTX version, and in the version before it.
    - One valid form of each row is compiled to machine code.
    """
    newest = tool.newest_ptx
    rows = [row for row in manager().instructions() if row.opcode not in FOREIGN and row.name in chosen]
    rows = [row for row in rows if row.since <= newest]
    targets = targets_of(newest)
    at_home: dict[str, list[Case]] = {}
    samples: list[tuple[InstructionRow, str, list[Case]]] = []
    for row in rows:
        homes = [target.name for target in targets if not unavailable(row, (row.opcode,), target.name, newest)]
        if not homes:
            continue
        cases = list(cases_of(row, chance, valid=valid, broken_each=broken))
        # The last target that supports the instruction-table row gets all cases of the row. The first target and a
        # random one get a third of the cases each, because a single modifier may require another target than its row.
        for home, share in zip(dict.fromkeys((homes[0], homes[-1], chance.choice(homes))), (0, 1, 2), strict=False):
            at_home.setdefault(home, []).extend(cases if share == 1 or len(homes) == 1 else cases[share::3])
        samples.append((row, homes[0], [case for case in cases if case.fault == "valid"][:2]))
    yield from ((Assembler(tool, home, newest), cases) for home, cases in at_home.items())
    yield from _everywhere(tool, targets, samples)
    yield from _before(tool, samples)
    yield from _with_code(tool, samples)


def _everywhere(
    tool: Tool, targets: list[TargetRow], samples: list[tuple[InstructionRow, str, list[Case]]]
) -> Iterator[tuple[Assembler, list[Case]]]:
    for target in targets:
        cases = [Case(case.text, case.row, "target") for _, _, own in samples for case in own]
        yield Assembler(tool, target.name, tool.newest_ptx), cases


def _before(
    tool: Tool, samples: list[tuple[InstructionRow, str, list[Case]]]
) -> Iterator[tuple[Assembler, list[Case]]]:
    asked: dict[tuple[str, tuple[int, int]], list[Case]] = {}
    for row, home, own in samples:
        target = _oldest_home(row, home)
        for version in (row.since, _before_version(row.since)):
            if version >= max(target.since, FIRST_MINOR_OF_TURING):
                cases = [Case(case.text, case.row, "version") for case in own]
                asked.setdefault((target.name, version), []).extend(cases)
    yield from ((Assembler(tool, target, version), cases) for (target, version), cases in asked.items())


def _oldest_home(row: InstructionRow, home: str) -> TargetRow:
    """Return the oldest target on which the first PTX version of an instruction-table row can be tested."""
    homes = [
        target
        for target in TARGETS
        if target.number >= OLDEST
        and not target.until
        and (not row.targets or any(includes(target, n) for n in row.targets))
    ]
    return min(homes, key=lambda target: target.since, default=find_target(home))


def _before_version(version: tuple[int, int]) -> tuple[int, int]:
    major, minor = version
    return BEFORE.get(version, (major, minor - 1))


def _with_code(
    tool: Tool, samples: list[tuple[InstructionRow, str, list[Case]]]
) -> Iterator[tuple[Assembler, list[Case]]]:
    asked: dict[str, list[Case]] = {}
    for _, home, own in samples:
        asked.setdefault(home, []).extend(Case(case.text, case.row, "code") for case in own[:1])
    yield from ((Assembler(tool, home, tool.newest_ptx, code=True), cases) for home, cases in asked.items())
