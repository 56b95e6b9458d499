"""Kernels and PTX modules of Python files and modules, by names such as `FILE.py:KERNEL`, for commands."""

from __future__ import annotations

import ast
import re
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeGuard, TypeVar

from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.errors import KernelFileError, UnknownTypeError, close
from pyptx_dsl.kernels.files import PythonFile, reported, run_file
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.types import PtxType, from_name
from pyptx_ir.plugins.source_rows import RunnableKernel
from pyptx_ir.sources import KERNEL_OF_FILE, UnknownSizeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    from pyptx_dsl.kernels.specialize import Traced

R = TypeVar("R")
_NEXT_PAIR = re.compile(r",(?=\s*[^\W\d]\w*\s*=)")  # a value may contain commas: dims=(1, 2)
_BOOLEANS = {"true": True, "false": False, "1": True, "0": False}
_NONE = "decorate a function with @kernel, or assign the kernel to a variable of the file: softmax_64 = make(64)"


class PtxModule(Protocol):
    """A module as `pyptx.module` builds it; `pyptx_dsl.modules`, a higher layer, defines the class."""

    def ptx(self) -> str:
        """Return the module's PTX."""
        ...

    def described(self) -> str:
        """Return a description of the module."""
        ...


@dataclass(frozen=True, slots=True)
class FoundModule:
    """A PTX module of a file, such as a file of `pyptx transpile` builds."""

    file: PythonFile
    module: PtxModule
    name: str

    def __reduce__(self) -> tuple[Callable[[str], FoundKernel | FoundModule], tuple[str]]:
        """Pickle the module by its name: another process runs the file."""
        return source_in_file, (self.name,)

    def text(self) -> str:
        """Return the module's PTX."""
        with self.file.running(self.name):
            return self.module.ptx()


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """A kernel of a file, and the sizes and template values that its name contains, as text."""

    file: PythonFile
    kernel: Kernel
    name: str
    values: Mapping[str, str]

    def __reduce__(self) -> tuple[Callable[[str], FoundKernel], tuple[str]]:
        """Pickle the kernel by its name: another process runs the file."""
        return found_in_file, (f"{self.name}:{','.join(f'{name}={value}' for name, value in self.values.items())}",)

    def text(self) -> str:
        """Return the kernel's PTX; see `call` for the errors."""
        return self.call(self.kernel.ptx)

    def call(self, method: Callable[..., R], *arrays: object, **options: object) -> R:
        """Call a method of the kernel with the kernel's sizes and template values, and with further arguments.

        Raises:
            KernelFileError: a dimension has no size (`help` has the options to add), or the kernel's function raises an
                exception.
            UnknownSizeError: the kernel has no size or parameter of a name.

        """
        found = self.keywords()
        with self.file.running(self.name):
            return method(*arrays, **found, **options)

    def traced(self) -> Traced:
        """Return the kernel's trace; see `call` for the errors."""
        trace = self.kernel._trace  # noqa: SLF001 - the kernel's trace is not part of its interface
        return self.call(lambda **keywords: trace(keywords))

    def keywords(self) -> dict[str, object]:
        """Return the keywords of methods of the kernel; see `call` for the errors."""
        declaration = self.kernel.declaration
        known = tuple(dict.fromkeys((*declaration.dimensions, *sorted(declaration.keywords))))
        for name in self.values:
            if name not in known:
                raise UnknownSizeError(
                    f"{self.kernel.name} has no size or parameter {name}",
                    name=name,
                    kernel=self.kernel.name,
                    known=known,
                    help=close(name, known),
                )
        found = values_of(self.kernel, self.values)
        sized = [name for name in declaration.dimensions if name not in declaration.templates]
        self._check_given([name for name in sized if name not in found], "size", "16")
        self._check_given([name for name in declaration.required if name not in found], "value", "VALUE")
        for name in sized:
            if not isinstance(found[name], int):
                raise KernelFileError(f"{self.kernel.name}: size {name} must be an integer, got {self.values[name]!r}")
        return found

    def _check_given(self, missing: list[str], what: str, example: str) -> None:
        if missing:
            pairs = {**self.values, **dict.fromkeys(missing, example)}.items()
            raise KernelFileError(
                f"{self.kernel.name}: no {what} for {', '.join(missing)}",
                help=f"add {' '.join(f'--{name} {example}' for name in missing)}, "
                f"or write {self.name}:{','.join(f'{name}={value}' for name, value in pairs)}",
            )

    def runnable(self) -> RunnableKernel:
        """Return the kernel with its arguments, for commands that run it."""
        declaration, found = self.kernel.declaration, self.keywords()
        given = {**declaration.templates, **found}
        sizes = {name: size for name in declaration.dimensions if isinstance(size := given.get(name), int)}
        types = {parameter.name: parameter.type for parameter in declaration.raw}
        inputs: list[tuple[str, str, tuple[int, ...] | None]] = [
            (name, tile.dtype.name, tile.resolve_shape(sizes))
            for name, tile in zip(declaration.tensors, declaration.in_specs, strict=False)
        ]
        outputs = declaration.tensors[len(inputs) :]
        tiles = zip(declaration.tensors, declaration.in_specs, strict=False)
        columns = tuple(name for name, tile in tiles if tile.layout is Layout.COL)
        for place, name in declaration.scalars:
            inputs.insert(place, (name, str(types[name]), None))
        return RunnableKernel(tuple(each for each in inputs if each[0] not in found), outputs, self._simulate, columns)

    def arrays(self) -> list[tuple[str, str, tuple[int, ...]]]:
        """Return name, PTX type and shape of each input array; raise KernelFileError for a number without a value."""
        inputs = self.runnable().inputs
        self._check_given([name for name, _, shape in inputs if shape is None], "value", "1.0")
        return [(name, dtype, shape) for name, dtype, shape in inputs if shape is not None]

    def _simulate(self, *arguments: object, **options: object) -> object:
        positional, declaration = {name for _, name in self.kernel.declaration.scalars}, self.kernel.declaration
        known = {*self.values, *declaration.dimensions, *declaration.templates, *positional}
        self._check_given([each.name for each in declaration.raw if each.name not in known], "value", "VALUE")
        return self.call(self.kernel.simulate, *arguments, **options)


def found_in_file(word: str) -> FoundKernel:
    """Return the kernel that `FILE.py:KERNEL` names; raise the errors of `source_in_file`, also for a module."""
    found = source_in_file(word)
    if isinstance(found, FoundKernel):
        return found
    raise KernelFileError(
        f"{word} is a module", help="name a kernel of the module: scaled = entry.kernel(in_specs=…, block=…)"
    )


def source_in_file(word: str) -> FoundKernel | FoundModule:
    """Return the kernel or module that `FILE.py:NAME` names; `FILE.py` suffices for a file with one kernel or module.

    Raises:
        KernelFileError: the file does not exist or raises an error, or the name is unknown or ambiguous.
        UnknownSizeError: the name gives sizes of a module.

    """
    match = KERNEL_OF_FILE.fullmatch(word)
    if match is None:
        raise KernelFileError(f"expected FILE.py:KERNEL, got {word!r}")
    if not Path(match["file"]).is_file():
        raise KernelFileError(f"file not found: {match['file']}")
    values = pairs(match["sizes"] or "", word)
    file, module = run_file(Path(match["file"]).resolve())
    name, found = _chosen(match["file"], match["kernel"] or "", module)
    if isinstance(found, Kernel):
        return FoundKernel(file, found, f"{match['file']}:{name}", values)
    for size in values:
        raise UnknownSizeError(f"{name} is a module, which has no sizes and parameters", name=size, kernel=name)
    return FoundModule(file, found, f"{match['file']}:{name}")


@contextmanager
def named_kernel(word: str) -> Iterator[tuple[Kernel, Mapping[str, str]]]:
    """Run the body as code of the file of a kernel, `MODULE:KERNEL` or `FILE.py:KERNEL`, whose function may import.

    Yields the kernel, and the sizes and template values in its name. Raises KernelFileError if it does not exist.
    """
    if KERNEL_OF_FILE.fullmatch(word):
        in_file = found_in_file(word)
        with in_file.file.running(in_file.name):
            yield in_file.kernel, in_file.values
        return
    place, colon, name = word.rpartition(":")
    if not (colon and place and name):
        raise KernelFileError(
            f"expected MODULE:KERNEL, got {word!r}", help="write MODULE:KERNEL, such as my.kernels:rms_norm"
        )
    with _importing(str(Path.cwd())):
        found = _chosen(place, name, _imported(place))[1]
        if not isinstance(found, Kernel):
            raise KernelFileError(f"{word} is a module, not a kernel")
        yield found, {}


def pairs(text: str, where: str) -> dict[str, str]:
    """Return the names and values in a text such as `B=16,N=512`; `where` is the argument with it, for errors."""
    found = dict[str, str]()
    for part in _NEXT_PAIR.split(text) if text else ():
        name, equals, value = map(str.strip, part.partition("="))
        if not (equals and name.isidentifier() and value):
            raise KernelFileError(f"{where}: expected NAME=VALUE, got {part!r}")
        if found.setdefault(name, value) != value:
            raise KernelFileError(f"{where}: {name} is given twice: {found[name]} and {value}")
    return found


def values_of(kernel: Kernel, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the values of texts: Python literals, PTX types for parameters whose default is one, or the texts."""
    return {name: _value(name, kernel.template_params.get(name), text) for name, text in texts.items()}


def _value(name: str, default: object, word: str) -> object:
    if isinstance(default, bool):
        if word.lower() not in _BOOLEANS:
            raise KernelFileError(f"{name} must be True or False, got {word!r}")
        return _BOOLEANS[word.lower()]
    if isinstance(default, PtxType):
        try:
            return from_name(word)
        except UnknownTypeError as error:
            raise KernelFileError(error.message, help=error.help) from None
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return word


def _chosen(place: str, name: str, module: ModuleType) -> tuple[str, Kernel | PtxModule]:
    """Return the kernel or PTX module of a name, or the only one that a Python module defines, and its name."""
    kernels = {each: value for each, value in vars(module).items() if isinstance(value, Kernel)}
    modules = {each: value for each, value in vars(module).items() if _is_module(value)}
    if name:
        named: dict[str, Kernel | PtxModule] = {**modules, **kernels}
        if name not in named:
            problem = "is not a kernel" if hasattr(module, name) else "does not exist"
            raise KernelFileError(f"{place}: {name} {problem}", help=close(name, tuple(named)) if named else _NONE)
        return name, named[name]
    own = {each: value for each, value in kernels.items() if not _is_imported(value, module)}
    defined: Mapping[str, Kernel | PtxModule] = own or kernels or modules
    if not defined:
        raise KernelFileError(f"{place} defines no kernel", help=_NONE)
    count = len(set(defined.values()))
    if count > 1:
        listed = "".join(f"\n  {place}:{each}" for each in defined)
        what = "kernels" if kernels else "modules"
        raise KernelFileError(f"{place} defines {count} {what}:{listed}", help="name one of them")
    return next(iter(defined.items()))


def _is_module(value: object) -> TypeGuard[PtxModule]:
    return all(callable(getattr(type(value), name, None)) for name in ("ptx", "described", "entry"))


def _is_imported(kernel: Kernel, module: ModuleType) -> bool:
    """Return whether a kernel is a name of another module, which defines it."""
    home = getattr(kernel.declaration.function, "__globals__", vars(module))
    return home is not vars(module) and any(value is kernel for value in home.values())


@contextmanager
def _importing(folder: str) -> Iterator[None]:
    """Import modules from a folder, as `python -m` does from the current one."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        with suppress(ValueError):  # a module has removed it
            sys.path.remove(folder)


def _imported(place: str) -> ModuleType:
    import importlib

    with reported(f"cannot import {place}", Path.cwd()):
        return importlib.import_module(place)
