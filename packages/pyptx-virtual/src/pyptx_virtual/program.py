"""Python programs that run in this process as if Python had started them: scripts, modules and commands."""

from __future__ import annotations

import os
import re
import runpy
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from pyptx_virtual.errors import ProgramNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

_PYTHON: Final = re.compile(r"python(3(\.\d+)?)?(\.exe)?")
_FAILED: Final = 1  # exit status of Python after an exception
_INTERRUPTED: Final = 130  # exit status of shells after an interrupt: 128 + SIGINT


@dataclass(frozen=True, slots=True)
class Program:
    """A Python program: `kind` is `script`, `module` or `command` (`-c`), `name` its path, module or text."""

    kind: str
    name: str
    arguments: tuple[str, ...] = ()

    @classmethod
    def parse(cls, words: Sequence[str]) -> Program:
        """Return the program of a command line: `FILE.py …`, `-m MODULE …`, `-c TEXT …`, each also after `python`.

        Raises ProgramNotFound if the command line names no Python program, or a file that does not exist.
        """
        given = list(words)
        if given and _PYTHON.fullmatch(Path(given[0]).name):
            given = given[1:]
        if given[:1] in (["-m"], ["-c"]) and len(given) > 1:
            return cls("module" if given[0] == "-m" else "command", given[1], tuple(given[2:]))
        if not given or given[0].startswith("-"):
            raise ProgramNotFound(
                f"no program in {' '.join(words) or 'an empty command line'}",
                help="pass FILE.py, -m MODULE or python -m MODULE, with arguments after it",
            )
        path = Path(given[0])
        if not path.is_file():
            raise ProgramNotFound(f"no such file: {path}", help="pass a Python script, or -m MODULE")
        return cls("script", given[0], tuple(given[1:]))

    def run(self, finish: Callable[[], object]) -> int:
        """Run the program as `__main__`, and call `finish` if it succeeds; return the exit status.

        The traceback of an exception is printed, as Python does.
        """
        sys.argv = [self.name if self.kind == "script" else f"-{self.kind[0]}", *self.arguments]
        try:
            status = self._executed()
            if not status:
                finish()
        except KeyboardInterrupt as interrupt:
            _print(interrupt)
            return _INTERRUPTED
        except BaseException as error:  # noqa: BLE001 - what Python does with an exception of a program
            _print(error)
            return _FAILED
        return status

    def _executed(self) -> int:
        try:
            self._execute()
        except SystemExit as leaving:
            return _status(leaving)
        return 0

    def _execute(self) -> None:
        if self.kind == "module":
            sys.path.insert(0, str(Path.cwd()))
            runpy.run_module(self.name, run_name="__main__", alter_sys=True)
            return
        main = ModuleType("__main__")
        if self.kind == "script":
            path = Path(self.name)
            sys.path.insert(0, str(path.resolve().parent))
            main.__file__ = self.name
            text: str | bytes = path.read_bytes()
        else:
            sys.path.insert(0, "")
            text = self.name
        sys.modules["__main__"] = main
        exec(compile(text, self.name if self.kind == "script" else "<string>", "exec"), main.__dict__)  # noqa: S102 - what Python does with a program


def _status(leaving: SystemExit) -> int:
    """Return the exit status of `sys.exit(code)`; print a code that is a message, as Python does."""
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    sys.stderr.write(f"{leaving.code}\n")
    return _FAILED


def _print(error: BaseException) -> None:
    """Print the traceback of an exception from the program's first frame on."""
    sys.stdout.flush()
    error.__traceback__ = _own(error.__traceback__)
    traceback.print_exception(error)


def _own(frames: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of this file and of `runpy` at its start."""
    hidden = {os.path.normcase(__file__), os.path.normcase(runpy.__file__ or ""), "<frozen runpy>"}
    while frames is not None:
        if os.path.normcase(frames.tb_frame.f_code.co_filename) not in hidden:
            break
        frames = frames.tb_next
    return frames
