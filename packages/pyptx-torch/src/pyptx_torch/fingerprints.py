"""Fingerprint of a kernel: a digest of its code and of the values that the code uses.

Two kernels with equal fingerprints compute the same. The digest covers the declaration, the kernel's function
(bytecode, constants, names) and its closure. It also covers the functions and constants among the globals that the
function reads, recursively. It does not cover line numbers and file paths. Functions of LIBRARIES are identified by
name only.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import sys
import types
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.types import PtxType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable

LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "pyptx", "numpy", "ml_dtypes", "torch", "jax", "jaxlib"})
"""Packages whose functions and classes a fingerprint identifies by name."""

_PLAIN: Final = (type(None), bool, int, float, complex, str, bytes, type(...), range, slice)
_NAMED: Final = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_FROZEN: Final = (*_PLAIN, *_NAMED, PtxType, Enum, frozenset, types.FunctionType, types.BuiltinFunctionType, Kernel)
# Attributes that Python adds to every class, not covered by the digest; some contain line numbers.
_OF_A_CLASS: Final = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__", "__annotations__"}
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digest of a kernel in hexadecimal, and descriptions of the values that the digest cannot cover."""

    digest: str
    unknown: tuple[str, ...]


def fingerprint_of(kernel: Launchable[Declaration]) -> Fingerprint:
    """Return the fingerprint of a kernel; it is the same in every process of one minor version of Python."""
    reader = _Reader()
    told = reader.kernel(kernel)
    digest = hashlib.blake2b(repr((sys.version_info[:2], told)).encode(), digest_size=16).hexdigest()
    return Fingerprint(digest, tuple(dict.fromkeys(reader.unknown)))


class _Reader:
    """Converts a kernel's values to nested tuples of text for hashing; lists unsupported values in `unknown`."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        # Objects that the fingerprint has visited: number in visit order, by id(); ends reference cycles.
        self._seen: dict[int, int] = {}

    def kernel(self, kernel: Launchable[Declaration]) -> object:
        """Return a kernel as nested tuples: its declaration, and its PTX source or else its Python function."""
        seen = self._again(kernel)
        if seen is not None:
            return seen
        declaration = kernel.declaration
        text = cast("str | None", getattr(kernel, "source_text", None))
        function = declaration.function
        body = self.read(function, declaration.name) if text is None else text
        told = (
            *(function.__module__, function.__qualname__, declaration.name, declaration.target.name, declaration.tiles),
            *(declaration.templates, declaration.raw, declaration.grid, declaration.block, declaration.cluster),
            *(declaration.shared_bytes, declaration.extern_symbol, declaration.directives, declaration.tma_slots),
            *(declaration.mutated, declaration.attributes, declaration.persistent),
        )
        return ("kernel", body, *(self.read(part, declaration.name) for part in told))

    def read(self, value: object, where: str) -> object:
        """Return a value as nested tuples of text; `where` is its name in messages."""
        kind = type(value)
        if kind in _PLAIN:
            return (kind.__name__, repr(value))
        if isinstance(value, (*_NAMED, PtxType)):
            return (kind.__qualname__, str(value))
        if isinstance(value, Enum):
            return ("enum", *self._class(kind, where), value.name, self.read(cast("object", value.value), where))
        if isinstance(value, tuple | list):
            items = cast("Sequence[object]", value)
            return (kind.__qualname__, *(self.read(item, f"{where}[{at}]") for at, item in enumerate(items)))
        if isinstance(value, set | frozenset):
            members = cast("Iterable[object]", value)
            return (kind.__qualname__, *sorted(repr(self.read(item, where)) for item in members))
        if isinstance(value, dict | types.MappingProxyType):
            rows = cast("Mapping[object, object]", value).items()
            return ("dict", *((self.read(key, where), self.read(item, f"{where}[{key!r}]")) for key, item in rows))
        if isinstance(value, Kernel):
            return self.kernel(cast("Launchable[Declaration]", value))
        return self._callable(value, where) or self._object(value, where)

    def _callable(self, value: object, where: str) -> tuple[object, ...] | None:
        """Return a function, method, class or module as a tuple; None for any other object."""
        match value:
            case types.FunctionType():
                return self._function(value, where)
            case types.CodeType():
                return self._code(value)
            case types.MethodType():
                return ("method", self.read(value.__func__, where), self.read(value.__self__, where))
            case functools.partial():
                return ("partial", *(self.read(part, where) for part in (value.func, value.args, value.keywords)))
            case staticmethod() | classmethod():
                return (type(value).__name__, self.read(cast("object", value.__func__), where))
            case property():
                return ("property", *(self.read(part, where) for part in (value.fget, value.fset, value.fdel)))
            case types.BuiltinFunctionType():
                owner = value.__self__
                of_module = owner is None or isinstance(owner, types.ModuleType)
                return (
                    "builtin",
                    value.__module__,
                    value.__qualname__,
                    *(() if of_module else (self.read(owner, where),)),
                )
            case types.MethodDescriptorType() | types.WrapperDescriptorType():
                return ("builtin", value.__objclass__.__qualname__, value.__name__)
            case types.ModuleType():
                return ("module", value.__name__)
            case type():
                return self._class(value, where)
            case _:
                return None

    def _object(self, value: object, where: str) -> object:
        """Return an object as a tuple if its fields or its repr define its value; list any other in `unknown`."""
        kind = type(value)
        if is_dataclass(kind):
            parts = ((row.name, getattr(value, row.name, None)) for row in fields(kind))
            return ("dataclass", *self._class(kind, where), *((name, self.read(part, where)) for name, part in parts))
        # The function within a wrapper, for example in an object of functools.cache.
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None and _root(kind.__module__) in LIBRARIES:
            return ("wrapped", kind.__qualname__, self.read(wrapped, where))
        told = kind.__repr__ is not object.__repr__ and not _is_array(value)
        if told and (_of_library(kind.__module__)):
            return (kind.__module__, kind.__qualname__, repr(value))
        return self._note(kind, where)

    def _note(self, kind: type, where: str) -> object:
        self.unknown.append(f"{where} ({kind.__qualname__})")
        return ("unknown", kind.__qualname__)

    def _again(self, value: object) -> object | None:
        """Return a back reference to an object that this `_Reader` has converted before; None the first time."""
        number = self._seen.get(id(value))
        if number is None:
            self._seen[id(value)] = len(self._seen)
            return None
        return ("again", number)

    def _function(self, function: types.FunctionType, where: str) -> tuple[object, ...]:
        name = (function.__module__, function.__qualname__)
        if _of_library(function.__module__) and not function.__closure__ and "<locals>" not in function.__qualname__:
            return ("function", *name)
        seen = self._again(function)
        if seen is not None:
            return ("function", seen)
        names = dict.fromkeys(_names(function.__code__))
        return (
            "function",
            self._code(function.__code__),
            self.read(function.__defaults__, f"a default of {where}"),
            self.read(function.__kwdefaults__, f"a default of {where}"),
            *(
                self._cell(name, cell)
                for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            ),
            *self._frozen(function.__globals__, names, {id(function.__globals__)}),
        )

    def _cell(self, name: str, cell: types.CellType) -> object:
        if cell == types.CellType():
            self.unknown.append(f"{name} (not assigned yet)")
            return (name, "not assigned yet")
        return (name, self.read(cell.cell_contents, name))

    def _code(self, code: types.CodeType) -> tuple[object, ...]:
        constants = (self.read(constant, code.co_name) for constant in code.co_consts)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return ("code", code.co_name, code.co_code, code.co_exceptiontable, *counts, *names, *constants)

    def _frozen(self, namespace: Mapping[str, object], names: Iterable[str], visited: set[int]) -> Iterator[object]:
        """Yield the globals of these names (functions, classes, constants, also of users' modules) as tuples."""
        names = tuple(names)
        for name in names:
            value = namespace.get(name)
            if name not in namespace or value is getattr(builtins, name, None):
                continue
            if isinstance(value, types.ModuleType):
                inner = vars(value)
                if not _of_library(value.__name__) and id(inner) not in visited:
                    yield (name, *self._frozen(inner, names, {*visited, id(inner)}))
            elif _is_frozen(value):
                yield (name, self.read(value, name))

    def _class(self, kind: type, where: str) -> tuple[object, ...]:
        """Return a class as a tuple: its name and, for a user's class, its functions and constants."""
        name = (kind.__module__, kind.__qualname__)
        importable = _imported(kind)
        if _of_library(kind.__module__) and importable:
            return ("class", *name)
        seen = self._again(kind)
        if seen is not None:
            return ("class", seen)
        if not importable:
            self._note(kind, where)
        own = [row for row in vars(kind) if row not in _OF_A_CLASS]
        bases = (self._class(base, where) for base in kind.__bases__)
        return ("class", *name, *bases, *self._frozen(vars(kind), sorted(own), set()))


def _names(code: types.CodeType) -> Iterator[str]:
    """Return the global and attribute names that a code object and its nested functions read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_frozen(value: object) -> bool:
    """Return whether a global is a function, a class or a constant, so that a kernel's digest covers it."""
    if type(value) is tuple:
        return all(map(_is_frozen, cast("tuple[object, ...]", value)))
    if is_dataclass(value) and not isinstance(value, type):
        return bool(cast("type", type(value)).__dataclass_params__.frozen)  # type: ignore[attr-defined] # dataclass's
    return isinstance(value, (*_FROZEN, type, staticmethod, classmethod, property, functools.partial))


def _root(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _of_library(module: str | None) -> bool:
    root = _root(module)
    return root in LIBRARIES or root.startswith("pyptx_")


def _imported(kind: type) -> bool:
    """Return whether a module has a class of this name; `dataclass(slots=True)` replaces the original class."""
    found: object = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return isinstance(found, type) and (found.__module__, found.__qualname__) == (kind.__module__, kind.__qualname__)


def _is_array(value: object) -> bool:
    """Return whether an object has elements, some of which its repr may omit."""
    return bool(getattr(value, "shape", None)) or isinstance(value, torch.Tensor)
