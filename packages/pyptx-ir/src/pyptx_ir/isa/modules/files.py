"""Check many PTX files: in this process, or on any executor of `concurrent.futures`."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from pyptx_ir.command_line import text_of
from pyptx_ir.errors import PyptxError
from pyptx_ir.isa.modules.check import check_text
from pyptx_ir.isa.modules.codes import codes
from pyptx_ir.isa.modules.diagnostic import Diagnostic, shown
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.processes import completed
from pyptx_ir.reports import Report, Unreadable
from pyptx_ir.sources.errors import UnknownSizeError
from pyptx_ir.sources.reader import read_sources
from pyptx_ir.suppressions import Run
from pyptx_ir.syntax.source import Source

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from concurrent.futures import Executor
    from os import PathLike

    from pyptx_ir.reports import Problem
    from pyptx_ir.suppressions import Suppressions

_FILE: Final = re.compile(r'\.file[ \t]+\d+[ \t]+"([^"\n]*)"')


@dataclass(frozen=True, slots=True)
class FileReport:
    """Diagnostics of one module; `shown` is each diagnostic as `pyptx check` prints it.

    `unreadable` is the error if the file could not be read, else empty. `sources` are the source files that the module
    declares (`.file`), `suppressed` the accepted problems, which are not among the diagnostics.
    """

    file: str
    diagnostics: tuple[Diagnostic, ...] = ()
    shown: tuple[str, ...] = ()
    unreadable: str = ""
    sources: tuple[str, ...] = ()
    suppressed: tuple[Problem, ...] = ()

    @property
    def errors(self) -> int:
        """Number of errors in the module."""
        return sum(one.is_error for one in self.diagnostics)

    @property
    def warnings(self) -> int:
        """Number of warnings in the module."""
        return len(self.diagnostics) - self.errors

    @property
    def report(self) -> Report:
        """The report that `pyptx check --format` prints of the module."""
        unreadable = (Unreadable(self.file, self.unreadable),) if self.unreadable else ()
        return Report("pyptx check", (self.file,), (*self._problems, *self.suppressed), unreadable)

    @property
    def _problems(self) -> tuple[Problem, ...]:
        return tuple(one.problem(self.file) for one in self.diagnostics)

    def reviewed(self, suppressions: Suppressions) -> FileReport:
        """Return the report without suppressed diagnostics; record the used entries in `suppressions`."""
        run = None if self.unreadable else Run("", (self.file.partition("#")[0], *self.sources), frozenset(codes()))
        problems = suppressions.apply(self._problems, run)
        kept = [at for at, problem in enumerate(problems) if not problem.suppressed]
        return replace(
            self,
            diagnostics=tuple(self.diagnostics[at] for at in kept),
            shown=tuple(self.shown[at] for at in kept),
            suppressed=tuple(problem for problem in problems if problem.suppressed),
        )


def check_files(
    paths: Iterable[str | PathLike[str]],
    *,
    target: str | None = None,
    arch: str | None = None,
    executor: Executor | None = None,
) -> Iterator[FileReport]:
    """Check files, and yield each report as soon as it is complete.

    A file is any input of `pyptx_ir.sources.read_sources`; each module of a file has a report. With `arch` only modules
    whose `.target` names it are checked; with `target` all modules are checked for that target.

    Without an `executor` the files are read and checked sequentially, when the next report is requested. With one
    (`ProcessPoolExecutor`, Dask's `client.get_executor()`, …) its workers read and check them, and reports come in
    order of completion. At most 512 files are submitted ahead. A worker needs pyptx-ir, the same plugins, and the same
    file system. Closing the iterator cancels pending files; the executor stays open.

    Raises:
        TargetError: `target` is unknown.

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
    """Check each module in an input file; for an unreadable file, return one report with the error."""
    for text in _texts(name, arch):
        if isinstance(text, FileReport):
            yield text
        else:
            found = check_text(text.text, text.name, target)
            sources = tuple(_FILE.findall(text.text))
            yield FileReport(text.name, found, tuple(shown(one, text) for one in found), sources=sources)


def _texts(name: str, arch: str | None) -> Iterator[Source | FileReport]:
    try:
        for source in read_sources(name, arch):
            yield Source(source.load(), source.name)
    except UnknownSizeError:
        raise  # an error of the command line, not of this file
    except (OSError, ValueError, PyptxError) as error:  # ValueError: the file's path contains a zero byte
        yield FileReport(name, unreadable=text_of(error))


def all_reports_on(name: str, target: str | None = None, arch: str | None = None) -> tuple[FileReport, ...]:
    """Return the reports of `reports_on` as a tuple, for transfer between processes."""
    return tuple(reports_on(name, target, arch))
