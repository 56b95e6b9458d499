"""Checking many files: in this process, or on any executor of `concurrent.futures`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.check import check_text
from pyptx_ir.isa.modules.diagnostic import Diagnostic, shown
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.processes import completed
from pyptx_ir.sources.errors import SourceError
from pyptx_ir.sources.reader import read_sources
from pyptx_ir.syntax.source import Source

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from concurrent.futures import Executor
    from os import PathLike


@dataclass(frozen=True, slots=True)
class FileReport:
    """What is wrong with one module; `shown` is each diagnostic as `pyptx check` prints it.

    `unreadable` says why the file could not be read, and is empty if it could.
    """

    file: str
    diagnostics: tuple[Diagnostic, ...] = ()
    shown: tuple[str, ...] = ()
    unreadable: str = ""

    @property
    def errors(self) -> int:
        """The number of errors."""
        return sum(one.is_error for one in self.diagnostics)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return len(self.diagnostics) - self.errors

    def as_json(self) -> dict[str, object]:
        """Return what a line of `--format ndjson` says, in a fixed order."""
        diagnostics = [one.as_json() for one in self.diagnostics]
        row: dict[str, object] = {
            "file": self.file,
            "errors": self.errors,
            "warnings": self.warnings,
            "diagnostics": diagnostics,
        }
        return {**row, "unreadable": self.unreadable} if self.unreadable else row


def check_files(
    paths: Iterable[str | PathLike[str]],
    *,
    target: str | None = None,
    arch: str | None = None,
    executor: Executor | None = None,
) -> Iterator[FileReport]:
    """Check files, and yield the report on each as soon as it is there.

    A file is all that `pyptx_ir.sources.read_sources` reads; of a file that holds several modules, each has a report.
    With `arch` only modules whose `.target` names it are checked; with `target` all are checked as if it did.

    Without an `executor` the files are read and judged one after the other, when the next report is asked for. With
    one (`ProcessPoolExecutor`, Dask's `client.get_executor()`, …) its workers read and judge them, the reports come in
    the order in which they are ready, and at most 512 files are handed out ahead; a worker needs pyptx-ir, the same
    plugins, and the same file system. Closing the iterator cancels what has not begun; the executor stays open.

    Raises:
        TargetError: nobody knows `target`.

    """
    if target is not None:
        find_target(target)
    names = map(str, paths)
    if executor is None:
        return chain.from_iterable(map(partial(reports_on, target=target, arch=arch), names))
    return _flat(completed(partial(all_reports_on, target=target, arch=arch), names, executor))


def _flat(groups: Generator[tuple[FileReport, ...]]) -> Iterator[FileReport]:
    with closing(groups):
        for group in groups:
            yield from group


def reports_on(name: str, target: str | None = None, arch: str | None = None) -> Iterator[FileReport]:
    """Check each module in an input; what can't be read has a report that says why."""
    for text in _texts(name, arch):
        if isinstance(text, FileReport):
            yield text
        else:
            found = check_text(text.text, text.name, target)
            yield FileReport(text.name, found, tuple(shown(one, text) for one in found))


def _texts(name: str, arch: str | None) -> Iterator[Source | FileReport]:
    try:
        for source in read_sources(name, arch):
            yield Source(source.load(), source.name)
    except (OSError, ValueError, SourceError) as error:  # ValueError: a path with a zero byte in it
        yield FileReport(name, unreadable=str(error))


def all_reports_on(name: str, target: str | None = None, arch: str | None = None) -> tuple[FileReport, ...]:
    """Return the reports that `reports_on` yields: what another process sends back."""
    return tuple(reports_on(name, target, arch))
