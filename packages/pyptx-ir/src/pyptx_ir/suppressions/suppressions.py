"""Application of suppressions to the problems of reports, and the entries that matched nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyptx_ir.reports import Position, Problem
from pyptx_ir.suppressions.entries import Suppression, is_file
from pyptx_ir.suppressions.reading import read

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

UNUSED: Final = "unused-suppression"
"""Rule of the problem that reports an unused entry."""
UNUSED_HELP: Final = "remove the entry, or update its code and line"


@dataclass(frozen=True, slots=True)
class Run:
    """A completed run or check: its kernel, the source files of its code, and the rules that it checked."""

    kernel: str = ""
    files: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Suppressions:
    """Entries of a suppressions file, with a record of the runs to which they were applied.

    `folder` contains the file, as an absolute path: names of files in entries are relative to it. `used` are the
    numbers of the entries that matched a problem, `tried` those of the entries that could have matched one. A process
    that collects the runs of others unites their sets.
    """

    path: str
    folder: str
    entries: tuple[Suppression, ...]
    used: set[int] = field(default_factory=set[int])
    tried: set[int] = field(default_factory=set[int])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Suppressions:
        """Read a suppressions file.

        Raises:
            SuppressionError: the file is not valid, or an entry has an unknown rule or no reason.
            OSError: the file cannot be read.

        """
        file = Path(path)
        return cls(str(path), str(file.absolute().parent), read(file.read_text(encoding="utf-8"), str(path)))

    def apply(self, problems: Iterable[Problem], run: Run | None = None) -> tuple[Problem, ...]:
        """Return the problems, the matched ones with the reason as `suppressed`; record the used entries.

        `run` describes a complete run: entries that it could have matched count as tried. Omit it after an error, which
        may hide problems.
        """
        kernel = "" if run is None else run.kernel
        if run is not None:
            self.tried.update(each.number for each in self.entries if self._could_match(each, run))
        return tuple(self._marked(each, kernel) for each in problems)

    def unused(self, severity: str = "warning") -> tuple[Problem, ...]:
        """Return a problem for each entry that could have matched in a run and did not, at its line of the file."""
        return tuple(
            Problem(
                self.path,
                UNUSED,
                "error" if severity == "error" else "warning",
                f"no finding matches the suppression of {each.rule}",
                (Position(self.path, each.row),),
                notes=(f"reason of the suppression: {each.reason}",),
                help=UNUSED_HELP,
            )
            for each in self.entries
            if each.number in self.tried - self.used
        )

    def _marked(self, problem: Problem, kernel: str) -> Problem:
        found = [each for each in self.entries if each.matches(problem, kernel, self.folder)]
        self.used.update(each.number for each in found)
        return replace(problem, suppressed=found[0].reason) if found else problem

    def _could_match(self, entry: Suppression, run: Run) -> bool:
        if entry.rule not in run.rules or entry.kernel not in {None, run.kernel}:
            return False
        return entry.at.file is None or any(is_file(file, entry.at.file, self.folder) for file in run.files)
