"""Runs of Python files for commands, as `python FILE.py` would run them.

The differences: `__name__` is not `"__main__"`, so that code below `if __name__ == "__main__":` does not run; output
goes to standard error; relative imports work in the files of a package.
"""

from __future__ import annotations

import os
import sys
from contextlib import chdir, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_dsl.errors import KernelFileError
from pyptx_dsl.origin import locate, show, user_frame
from pyptx_dsl.tracebacks import SWITCH, shows_all
from pyptx_ir.errors import PyptxError
from pyptx_ir.machinery import is_internal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, ModuleType, TracebackType


class _SourceLoader(SourceFileLoader):
    """A loader that neither reads nor writes bytecode, as `python FILE.py` does not for its file."""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file."""
        del fullname
        return self.source_to_code(self.get_data(self.path), self.path)


@dataclass(frozen=True, slots=True)
class PythonFile:
    """A Python file that defines kernels; `imported` are modules of its own folder, by name."""

    path: Path
    imported: dict[str, ModuleType] = field(default_factory=dict["str", "ModuleType"])

    @contextmanager
    def running(self, action: str) -> Iterator[None]:
        """Run the body as code of this file: with its arguments, imports, and output to standard error.

        Two files may import different modules of the same name from their folders.

        Raises:
            KernelFileError: an exception of the file's code, or `sys.exit`; the text begins with `action`.

        """
        arguments, sys.argv = sys.argv, [str(self.path)]
        folders = list(dict.fromkeys((str(self.path.parent), str(_root(self.path)))))
        sys.path[:0] = folders
        sys.modules.update(self.imported)
        before = set(sys.modules) - set(self.imported)
        try:
            # chdir(".") restores the working directory at its end.
            with chdir("."), _output_to_error(), reported(action, _root(self.path)):
                yield
        finally:
            sys.argv = arguments
            for folder in folders:
                with suppress(ValueError):  # the file has removed it
                    sys.path.remove(folder)
            new = set(sys.modules) - before
            self.imported.update((name, sys.modules[name]) for name in new if _is_in(name, folders))
            for name in self.imported:
                sys.modules.pop(name, None)

    def module(self) -> ModuleType:
        """Run the file; return its module."""
        from importlib.util import module_from_spec, spec_from_file_location

        package = ".".join(self.path.parent.relative_to(_root(self.path)).parts)
        name = f"_pyptx_{self.path.stem}"  # the prefix avoids the name of an installed module
        name = f"{package}.{name}" if package else name
        spec = spec_from_file_location(name, self.path, loader=_SourceLoader(name, str(self.path)))
        if spec is None or spec.loader is None:
            raise KernelFileError(f"cannot import {self.path}")
        module = module_from_spec(spec)
        with self.running(f"cannot import {self.path}"):
            # dataclasses and pickle look up a class's module in sys.modules
            sys.modules[module.__name__] = self.imported[module.__name__] = module
            spec.loader.exec_module(module)
        return module


@contextmanager
def _output_to_error() -> Iterator[None]:
    """Redirect standard output to standard error, also that of C libraries and child processes (file descriptor 1)."""
    sys.stdout.flush()
    try:
        saved = os.dup(1)
    except OSError:  # standard output is closed
        saved = None
    try:
        if saved is not None:
            with suppress(OSError):  # standard error is closed
                os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


@cache
def run_file(path: Path) -> tuple[PythonFile, ModuleType]:
    """Run a Python file, once per process; return it and its module."""
    file = PythonFile(path)
    return file, file.module()


def _root(path: Path) -> Path:
    """Return the folder of a file, or, if the folder is a package, the folder of its outermost package."""
    return next(folder for folder in path.parents if not (folder / "__init__.py").is_file())


def _is_in(name: str, folders: list[str]) -> bool:
    """Return whether a module, or its outermost package, is a file of one of the folders."""
    file = getattr(sys.modules.get(name.partition(".")[0]), "__file__", None)
    if not isinstance(file, str):
        return False
    path = Path(file)
    return str(path.parent.parent if path.stem == "__init__" else path.parent) in folders


@contextmanager
def reported(action: str, folder: Path) -> Iterator[None]:
    """Replace errors of the body by KernelFileError, except those of pyptx, which lose the line of the command."""
    here = locate(user_frame())
    try:
        yield
    except PyptxError as error:
        if error.where is not None and error.where == here:
            error.args = PyptxError(error.message, help=error.help).args
        raise
    except SystemExit as error:
        raise KernelFileError(
            f"{action}: sys.exit({'' if error.code is None else repr(error.code)}) was called",
            where=_line(error, folder),
            help='move the code of the program below if __name__ == "__main__":',
        ) from error
    except BaseException as error:  # test frameworks skip a file by a BaseException
        if shows_all() or isinstance(error, KeyboardInterrupt | GeneratorExit):
            raise
        text = error.msg if isinstance(error, SyntaxError) else error
        own = is_internal(list(_steps(error.__traceback__))[-1].tb_frame)
        raise KernelFileError(
            f"{action}: {type(error).__name__}: {text}",
            where=_line(error, folder),
            help=f"{SWITCH}=full in the environment shows the traceback" if own else None,
        ) from error


def _line(error: BaseException, folder: Path) -> str:
    """Return the innermost line below a folder that raised an error, or the line that a SyntaxError names."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return show(error.filename, error.lineno, column=(error.offset or 1) - 1)
    for step in reversed(list(_steps(error.__traceback__))):
        code = step.tb_frame.f_code
        path = Path(code.co_filename)
        if path.is_relative_to(folder) and "site-packages" not in path.parts and not is_internal(step.tb_frame):
            return show(code.co_filename, step.tb_lineno, code.co_qualname)
    return ""


def _steps(step: TracebackType | None) -> Iterator[TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next
