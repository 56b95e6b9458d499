"""Checking many files: in this process, or on any executor of `concurrent.futures`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.check import check_text
from pyptx_ir.isa.modules.diagnostic import Diagnostic, shown
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.processes import completed
from pyptx_ir.syntax.source import Source, decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from concurrent.futures import Executor
    from os import PathLike


@dataclass(frozen=True, slots=True)
class FileReport:
    """What is wrong with one file; `shown` is each diagnostic as `pyptx check` prints it.

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
    executor: Executor | None = None,
) -> Iterator[FileReport]:
    """Check files, and yield the report on each as soon as it is there.

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
        return (check_file(name, target) for name in names)
    return completed(partial(check_file, target=target), names, executor)


def check_file(path: str | PathLike[str], target: str | None = None) -> FileReport:
    """Read one file and check it."""
    name = str(path)
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte in it
        return FileReport(name, unreadable=str(error))
    return check_source(Source(decode(data), name), target)


def check_source(source: Source, target: str | None = None) -> FileReport:
    """Check a text that is called like a file."""
    found = check_text(source.text, source.name, target)
    return FileReport(source.name, found, tuple(shown(one, source) for one in found))
