"""Kernels of files and modules, by names such as `FILE.py:KERNEL`, for commands.

A file runs once per process, as `python FILE.py` would run it, but under another `__name__`, so that the code below
`if __name__ == "__main__":` does not run.
"""

from __future__ import annotations

import ast
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_dsl.errors import KernelFileError, UnknownTypeError, close
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.types import PtxType, from_name
from pyptx_ir.errors import PyptxError
from pyptx_ir.plugins.source_rows import RunnableKernel
from pyptx_ir.sources import KERNEL_OF_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from pyptx_dsl.kernels.specialize import Traced


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """A kernel of a file, and the sizes and template values that its name contains, as text."""

    kernel: Kernel
    name: str
    values: Mapping[str, str]

    def text(self) -> str:
        """Return the kernel's PTX. Raise KernelFileError, with the options to add, if a dimension has no size."""
        return self.kernel.ptx(**self.keywords())

    def traced(self) -> Traced:
        """Return the kernel's trace; see `text` for the errors."""
        return self.kernel._trace(self.keywords())  # noqa: SLF001 - the kernel's trace is not part of its interface

    def keywords(self) -> dict[str, object]:
        """Return the keywords of methods of the kernel; see `text` and `runnable` for the errors."""
        found = values_of(self.kernel, self.values)
        declaration = self.kernel.declaration
        for name in found:
            if name not in declaration.keywords:
                known = tuple(sorted(declaration.keywords))
                raise KernelFileError(f"{self.kernel.name} has no size or parameter {name}", help=close(name, known))
        missing = [name for name in declaration.dimensions if name not in found and name not in declaration.templates]
        if missing:
            raise KernelFileError(
                f"{self.kernel.name}: no size for {', '.join(missing)}",
                help=f"add {' '.join(f'--{name} 16' for name in missing)}, "
                f"or write {self.name}:{','.join(f'{name}=16' for name in missing)}",
            )
        return found

    def runnable(self) -> RunnableKernel:
        """Return the kernel with its input arrays, for commands that run it."""
        declaration, found = self.kernel.declaration, self.keywords()
        given = {**declaration.templates, **found}
        sizes = {name: size for name in declaration.dimensions if isinstance(size := given.get(name), int)}
        inputs = tuple(
            (name, tile.dtype.name, tile.resolve_shape(sizes))
            for name, tile in zip(declaration.tensors, declaration.in_specs, strict=False)
        )
        outputs = declaration.tensors[len(inputs) :]
        return RunnableKernel(inputs, outputs, partial(self.kernel.simulate, **found))


def found_in_file(word: str) -> FoundKernel:
    """Return the kernel that `FILE.py:KERNEL` names; `FILE.py` suffices if the file defines one kernel."""
    match = KERNEL_OF_FILE.fullmatch(word)
    if match is None:
        raise KernelFileError(f"expected FILE.py:KERNEL, got {word!r}")
    file, name = match["file"], match["kernel"] or ""
    kernel = _chosen(file, name, _run(str(Path(file).resolve())) if Path(file).is_file() else _no_file(file))
    return FoundKernel(kernel, f"{file}:{kernel.name}", pairs(match["sizes"] or "", word))


def found_in_module(word: str) -> Kernel:
    """Return the kernel named `MODULE:KERNEL` or `FILE.py:KERNEL`; raise KernelFileError if it does not exist."""
    if KERNEL_OF_FILE.fullmatch(word):
        return found_in_file(word).kernel
    place, colon, name = word.rpartition(":")
    if not (colon and place and name):
        raise KernelFileError(
            f"expected MODULE:KERNEL, got {word!r}", help="write MODULE:KERNEL, such as my.kernels:rms_norm"
        )
    return _chosen(place, name, _imported(place))


def pairs(text: str, where: str) -> dict[str, str]:
    """Return the names and values in a text such as `B=16,N=512`; `where` is the argument with it, for errors."""
    found = dict[str, str]()
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not (equals and name.strip().isidentifier() and value.strip()):
            raise KernelFileError(f"{where}: expected NAME=VALUE, got {part!r}")
        found[name.strip()] = value.strip()
    return found


def values_of(kernel: Kernel, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the values of texts: Python literals, PTX types for parameters whose default is one, or the texts."""
    return {name: _value(kernel.template_params.get(name), text) for name, text in texts.items()}


def _value(default: object, word: str) -> object:
    if isinstance(default, PtxType):
        try:
            return from_name(word)
        except UnknownTypeError as error:
            raise KernelFileError(error.message, help=error.help) from None
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return word


def _chosen(place: str, name: str, module: ModuleType) -> Kernel:
    kernels = {each: value for each, value in vars(module).items() if isinstance(value, Kernel)}
    if not kernels:
        problem = "defines no kernel" if not name else f"{name} is not a kernel" if hasattr(module, name) else ""
        raise KernelFileError(
            f"{place}: {problem or f'{name} does not exist'}",
            help="the module defines no kernel; decorate a function with @kernel",
        )
    if not name and len(set(kernels.values())) > 1:
        listed = "".join(f"\n  {place}:{each}" for each in kernels)
        raise KernelFileError(f"{place} defines {len(kernels)} kernels:{listed}", help="name one of them")
    found = kernels.get(name) if name else next(iter(kernels.values()))
    if found is None:
        problem = "is not a kernel" if hasattr(module, name) else "does not exist"
        raise KernelFileError(f"{place}: {name} {problem}", help=close(name, tuple(kernels)))
    return found


def _no_file(file: str) -> ModuleType:
    raise KernelFileError(f"file not found: {file}")


@cache
def _run(file: str) -> ModuleType:
    """Run a Python file like `python FILE.py`, under another `__name__`, and return its module."""
    from importlib.util import module_from_spec, spec_from_file_location

    path = Path(file)
    name = f"_pyptx_{path.stem}"  # the prefix avoids the name of an installed module
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise KernelFileError(f"cannot import {path}")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look up a class's module in sys.modules
    arguments, sys.argv = sys.argv, [file]
    sys.path.insert(0, str(path.parent))
    try:
        with redirect_stdout(sys.stderr):  # standard output is the command's
            spec.loader.exec_module(module)
    except PyptxError:
        raise
    except Exception as error:
        raise KernelFileError(f"cannot import {file}: {type(error).__name__}: {error}", where=_place(error)) from error
    finally:
        sys.argv = arguments
        sys.path.remove(str(path.parent))
    return module


def _imported(place: str) -> ModuleType:
    """Import a module as `python -m` does, from the current folder."""
    import importlib

    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except PyptxError:
        raise
    except Exception as error:
        raise KernelFileError(f"cannot import {place}: {type(error).__name__}: {error}", where=_place(error)) from error
    finally:
        sys.path.pop(0)


def _place(error: BaseException) -> str:
    """Return the line of user code at which an import failed."""
    from pyptx_dsl.origin import show

    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    code = last.tb_frame.f_code
    return show(code.co_filename, last.tb_lineno, code.co_name)
