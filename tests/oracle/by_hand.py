"""Handwritten instructions, from the manual's syntax lines: where ptxas accepts them, and since which version.

    python -m tests.oracle.by_hand --ptxas PATH tests/oracle/forms/bulk_copy.tsv …

A line of these files has three columns separated by tabs: the first PTX version with the instruction, the targets that
have it (a target stands for all targets that include it), and the instruction. The first two are `-` if ptxas always
rejects the instruction. The command runs ptxas and rewrites the first two columns. The forms that the oracle generates
from the instruction table cannot reveal forms that the table lacks; these handwritten instructions can.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.isa.targets import includes
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.toolchain.finder import Tool, tool_version

from .plan import targets_of
from .ptxas import Assembler

if TYPE_CHECKING:
    from collections.abc import Sequence

FOLDER = Path(__file__).with_name("forms")
NEWEST = (9, 5)
VERSIONS = (
    *((6, minor) for minor in (3, 4, 5)),
    *((7, minor) for minor in (0, 1, 4, 5, 8)),
    *((8, minor) for minor in range(9)),
    *((9, minor) for minor in range(6)),
)


@dataclass(frozen=True, slots=True)
class HandWritten:
    """A handwritten instruction with the results of ptxas.

    `since` is the first PTX version that has the instruction; None if ptxas always rejects it. Each accepting target is
    one of `targets` or includes one of them.
    """

    text: str
    since: tuple[int, int] | None = None
    targets: tuple[str, ...] = ()

    def is_for(self, target: str, version: tuple[int, int]) -> bool:
        """Return whether ptxas accepts the instruction for a target and PTX version."""
        if self.since is None or version < self.since:
            return False
        return any(includes(target, need) for need in self.targets)

    def __str__(self) -> str:
        since = "-" if self.since is None else f"{self.since[0]}.{self.since[1]}"
        return f"{since}\t{' '.join(self.targets) or '-'}\t{self.text}"


def read(path: Path) -> tuple[HandWritten, ...]:
    """Return the instructions of a file; a line with only an instruction has no ptxas results yet."""
    found: list[HandWritten] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        since, _, rest = line.partition("\t")
        targets, _, text = rest.partition("\t")
        if not text or since == "-":
            found.append(HandWritten(text or line))
            continue
        major, minor = since.split(".")
        found.append(HandWritten(text, (int(major), int(minor)), tuple(targets.split())))
    return tuple(found)


def ask(tool: Tool, texts: Sequence[str]) -> tuple[HandWritten, ...]:
    """Check each instruction with ptxas for every target, and for every PTX version on the oldest accepting target."""
    homes: dict[str, list[str]] = {text: [] for text in texts}
    for target in targets_of(tool.newest_ptx):
        for text in taken(Assembler(tool, target.name, tool.newest_ptx), texts):
            homes[text].append(target.name)
    since = _first_versions(tool, {text: names for text, names in homes.items() if names})
    return tuple(HandWritten(text, since.get(text), _cover(tool, homes[text])) for text in texts)


def taken(assembler: Assembler, texts: Sequence[str]) -> list[str]:
    """Return the instructions that ptxas accepts; ptxas performs some checks only if a file has no other errors."""
    found: list[str] = []
    pending = [text for text, complaint in assembler.verdicts(texts).items() if complaint is None]
    while pending:
        verdicts = assembler.verdicts(pending)
        first = next((index for index, text in enumerate(pending) if verdicts[text] is not None), len(pending))
        found += pending[:first]  # ptxas has checked the instructions before its first error, and accepts them
        found += [text for text in pending[first : first + 1] if assembler.alone(text) is None]
        pending = pending[first + 1 :]
    return found


def _first_versions(tool: Tool, homes: dict[str, list[str]]) -> dict[str, tuple[int, int]]:
    oldest = {
        text: min(map(find_target, names), key=lambda row: (row.since, row.number)) for text, names in homes.items()
    }
    found: dict[str, tuple[int, int]] = {}
    for version in VERSIONS:
        for target in sorted({row.name for row in oldest.values() if row.since <= version}):
            pending = [text for text in homes if text not in found and oldest[text].name == target]
            found |= dict.fromkeys(taken(Assembler(tool, target, version), pending), version)
    return found


def _cover(tool: Tool, names: list[str]) -> tuple[str, ...]:
    """Return the fewest targets of `names` that cover all of `names` and no other target.

    A target covers itself and the targets that include it.
    """
    every = [target.name for target in targets_of(tool.newest_ptx)]
    covered = {name: {other for other in every if includes(other, name)} for name in names}
    whole = {name: others for name, others in covered.items() if others <= set(names)}
    return tuple(name for name, others in whole.items() if not any(others < more for more in whole.values()))


def main() -> None:
    """Rewrite the given files of handwritten instructions with the results of ptxas."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ptxas", type=Path, required=True)
    parser.add_argument("paths", nargs="+", type=Path)
    options = parser.parse_args()
    tool = Tool("ptxas", options.ptxas, tool_version(options.ptxas))
    for path in options.paths:
        texts = list(dict.fromkeys(each.text for each in read(path)))
        path.write_text("".join(f"{each}\n" for each in ask(tool, texts)), encoding="utf-8")


if __name__ == "__main__":
    main()
