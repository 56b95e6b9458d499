"""One operator of torch per kernel, made when a call or a compiler first needs it.

A graph holds the operator's overloads; each overload holds its Operator, and that the kernel. The functions that are
registered with torch's dispatcher hold it weakly. So a kernel and its operator go when nobody can call them any more,
graphs included; `torch.ops.pyptx` only remembers (see `namespace`).
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from types import CellType
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_dsl.errors import DeviceError, KeywordError
from pyptx_dsl.kernels.runtimes import called_while_compiling
from pyptx_torch.devices import check_device, check_storage
from pyptx_torch.dispatch import define
from pyptx_torch.internals import as_constant, destroy
from pyptx_torch.literals import Literals
from pyptx_torch.namespace import NAME, NAMESPACE
from pyptx_torch.signature import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable
    from pyptx_torch.internals import Library
    from pyptx_torch.places import Place
    from pyptx_torch.plans import Plans
    from pyptx_torch.signature import Number

_ATTRIBUTE: Final = "_pyptx_torch_operator"
_LOCK: Final = threading.RLock()
_NAMES: Final = set[str]()  # of the operators that are alive
_KEPT: Final = set["Operator"]()  # by `register`


def operator_of(kernel: Launchable[Declaration]) -> Operator:
    """Return the operator of a kernel, made once."""
    known = vars(kernel).get(_ATTRIBUTE)
    if isinstance(known, Operator):
        return known
    with _LOCK:
        known = vars(kernel).get(_ATTRIBUTE)
        if not isinstance(known, Operator):
            known = Operator(kernel)
            setattr(kernel, _ATTRIBUTE, known)
        return known


def register(kernel: Launchable[Declaration]) -> str:
    """Define a kernel's operator for as long as the process runs, and return its name.

    For programs that name it instead of calling the kernel: what `torch.export.load` reads, or C++. The name is the
    same in every process in which the same function was decorated in the same order among its like.
    """
    operator = operator_of(kernel)
    _KEPT.add(operator)
    return f"{NAME}::{operator.name}"


class Operator:
    """A kernel as torch knows it; call it like the kernel."""

    def __init__(self, kernel: Launchable[Declaration]) -> None:
        """Define the operator and all that torch's dispatcher needs of it."""
        self.kernel = kernel
        self.signature = signature_of(kernel.declaration)
        self.literals = Literals(kernel.name)
        self.name = _claim(kernel)
        self._fixed = {*kernel.declaration.templates, *kernel.declaration.dimensions}
        self._numbers = {number.name: number for number in self.signature.numbers}
        # What a launch passes by value, and no text depends on.
        self.scalars = tuple(number.name for number in self.signature.numbers if number.raw is not None)
        self._plans: dict[str, Plans] = {}
        library = define(self)
        weakref.finalize(self, _forget, library, self.name).atexit = False
        self._packet = getattr(NAMESPACE, self.name)
        self.default = self._packet.default
        self.into = self._packet.out if self.signature.outputs else self.default  # what `out=` calls
        self.default.pyptx_operator = self.into.pyptx_operator = self

    def __call__(self, /, *tensors: torch.Tensor, **keywords: object) -> object:
        """Run the kernel through torch's dispatcher; what can be said of the arguments at once is said here."""
        self.signature.check_count(len(tensors))
        for name, tensor in zip(self.signature.inputs, tensors, strict=True):
            check_storage(self.kernel.name, name, tensor)
        own, out = self._sorted(keywords)
        numbers = {name: self._encode(self._numbers[name], own.pop(name)) for name in self._numbers if name in own}
        if not tensors and out is None:
            numbers[self.signature.device] = self._device(own)
        fixed = {name: as_constant(value) for name, value in own.items()}
        return self._dispatch(tensors, out, {**numbers, self.signature.keywords: self.literals.spell(fixed)})

    def plans(self, place: Place) -> Plans:
        """Return the kernel's plans for a type of device, made when a call first needs them."""
        known = self._plans.get(place.type)
        if known is None:
            from pyptx_torch.plans import Plans

            known = self._plans.setdefault(place.type, Plans(self, place))
        return known

    def traceable(self, /, *tensors: torch.Tensor, **keywords: object) -> object:
        """Run the kernel in a function that torch.compile traces.

        Sizes and raw parameters may be symbols. A template value shapes the text, so it is a constant of the graph:
        where it is an argument of the compiled function, each value of it is compiled once.
        """
        if len(tensors) != len(self.signature.inputs):
            self._refuse(len(tensors))
        own, out = self._sorted(keywords)
        arguments: dict[str, object] = {}  # spelt so that torch.compile can trace it
        for name in self._numbers:
            if name in own:
                arguments[name] = own.pop(name)
        if not tensors and out is None and "device" not in self._fixed:
            arguments[self.signature.device] = own.pop("device", None)
        if own:
            fixed = [as_constant(value) for value in own.values()]
            arguments[self.signature.keywords] = self._spell(tuple(own), *fixed)
        return self._dispatch(tensors, out, arguments)

    def _sorted(self, keywords: Mapping[str, object]) -> tuple[dict[str, object], object]:
        """Return the kernel's own keywords, and `out=`."""
        own = dict(keywords)
        return own, own.pop("out", None)

    def _dispatch(self, tensors: Sequence[torch.Tensor], out: object, arguments: Mapping[str, object]) -> object:
        if out is None:
            return self.default(*tensors, **arguments)
        given = tuple(cast("Sequence[object]", out)) if isinstance(out, tuple | list) else (out,)
        tensors_too = tuple(isinstance(tensor, torch.Tensor) for tensor in given)
        if len(given) != len(self.signature.outputs) or not all(tensors_too):
            self._refuse_outputs(tensors_too)
        self.into(*tensors, *given, **arguments)
        return given[0] if len(given) == 1 else given

    @called_while_compiling
    def _refuse(self, given: int) -> None:
        """Raise the error of a wrong number of tensors; torch.compile calls this while it traces."""
        self.signature.check_count(given)

    @called_while_compiling
    def _refuse_outputs(self, tensors: Sequence[bool]) -> None:
        """Raise the error of a wrong `out=`."""
        self.signature.check_outputs(tensors)

    @called_while_compiling
    def _spell(self, names: Sequence[str], *values: object) -> str:
        """Spell constants of a graph; torch.compile calls this while it traces."""
        return self.literals.spell(dict(zip(names, values, strict=True)))

    def _encode(self, number: Number, value: object) -> object:
        """Return a number as the operator takes it; raise KeywordError for anything else."""
        if isinstance(value, torch.SymInt | torch.SymFloat):
            return value
        if isinstance(value, torch.Tensor):
            raise KeywordError(
                f"{self.kernel.name}: {number.name} is a number, and a tensor was given",
                hint=f"pass {number.name}=tensor.item(), which waits for the device",
            )
        return number.encode(self.kernel.name, value)

    def read(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the fixed keywords among the arguments of the operator."""
        return self.literals.read(cast("str", arguments.get(self.signature.keywords, "")))

    def numbers(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the numbers among the arguments of the operator, as the kernel takes them."""
        return {
            name: number.decode(arguments[name])
            for name, number in self._numbers.items()
            if arguments.get(name) is not None
        }

    def _device(self, own: dict[str, object]) -> torch.device:
        """Take the device of a call without tensors out of its keywords."""
        given = own.pop("device", None) if "device" not in self._fixed else None
        if given is None:
            return torch.get_default_device()
        try:
            device = torch.device(cast("str", given))
        except (RuntimeError, TypeError) as error:
            raise DeviceError(f"{self.kernel.name}: device={given!r} is no device of torch: {error}") from None
        check_device(self.kernel.name, "device= is", device)
        return device


def _claim(kernel: Launchable[Declaration]) -> str:
    """Return a name that no living operator has: the kernel's, and a digest of what tells it from others of that name.

    A process that decorates the same functions in the same order gives them the same names.
    """
    base = f"{kernel.name}_{_digest(kernel)}"
    with _LOCK:
        name, number = base, 1
        while name in _NAMES:
            number += 1
            name = f"{base}_{number}"
        _NAMES.add(name)
    return name


def _digest(kernel: Launchable[Declaration]) -> str:
    """Return eight characters that tell where a kernel is written, what it declares, and the constants around it."""
    declaration = kernel.declaration
    function = declaration.function
    told = (
        *(function.__module__, function.__qualname__, declaration.target.name, declaration.tiles, declaration.raw),
        *(declaration.templates.keys(), declaration.mutated, declaration.block, declaration.cluster),
        *(value for value in _enclosed(function) if isinstance(value, bool | int | float | str)),
    )
    return hashlib.blake2b(repr(told).encode(), digest_size=4).hexdigest()


def _enclosed(function: Callable[..., object]) -> Sequence[object]:
    """Return what a function uses of the one around it, but for what that has not assigned yet."""
    cells = cast("Sequence[CellType]", getattr(function, "__closure__", None) or ())
    return [cell.cell_contents for cell in cells if cell != CellType()]


def _forget(library: Library, name: str) -> None:
    """Take an operator that nobody can call any more out of torch, and free its name."""
    destroy(library)
    _NAMES.discard(name)
