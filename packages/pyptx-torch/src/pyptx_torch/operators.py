"""One torch operator per kernel, created when a call or a compiler first needs it.

A graph references the operator's overloads; each overload references its `Operator`, which references the kernel. The
functions registered with torch's dispatcher reference the `Operator` weakly. So a kernel and its operator are freed
when no code and no graph can call them; `torch.ops.pyptx` holds only weak references (see `namespace`).
"""

from __future__ import annotations

import gc
import re
import threading
import weakref
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_dsl.errors import DeviceError, KeywordError
from pyptx_dsl.kernels.runtimes import called_while_compiling
from pyptx_torch.devices import check_device, check_storage
from pyptx_torch.dispatch import define
from pyptx_torch.errors import OperatorNameError
from pyptx_torch.fingerprints import fingerprint_of
from pyptx_torch.internals import as_constant, destroy, is_recording
from pyptx_torch.literals import Literals
from pyptx_torch.namespace import NAME, NAMESPACE
from pyptx_torch.signature import signature_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable
    from pyptx_torch.device_types import DeviceType
    from pyptx_torch.internals import Library, Packet
    from pyptx_torch.plans import Plans
    from pyptx_torch.signature import Number

_ATTRIBUTE: Final = "_pyptx_torch_operator"
_LOCK: Final = threading.RLock()
_NAMES: Final = set[str]()  # names of all torch operators whose kernels are alive, which no other operator may take
_KEPT: Final = set["Operator"]()  # torch operators that `register` keeps alive until the process exits


def operator_of(kernel: Launchable[Declaration]) -> Operator:
    """Return the torch operator of a kernel, created at the first call."""
    known = vars(kernel).get(_ATTRIBUTE)
    if isinstance(known, Operator):
        return known
    with _LOCK:
        known = vars(kernel).get(_ATTRIBUTE)
        if not isinstance(known, Operator):
            known = Operator(kernel)
            setattr(kernel, _ATTRIBUTE, known)
        return known


def register(kernel: Launchable[Declaration], *, name: str | None = None) -> str:
    """Define a kernel's operator for the lifetime of the process, and return its name, `pyptx::…`.

    For programs that name the operator instead of calling the kernel: those of `torch.export.load`, or C++. Call it in
    the process that saves a program and in the process that loads it.

    `name` is an identifier that no other kernel has. Without it, the name consists of the kernel's name and a digest of
    its code and of the values that it closes over; it is the same in every process of one minor version of Python.
    Raises OperatorNameError for a name that is invalid or taken. Without `name`, raises it for an ambiguous digest:

    - another living kernel has the same code and values, or
    - the kernel closes over an object that cannot be compared (an array, an instance of a class that is not a
      dataclass).
    """
    operator = operator_of(kernel)
    if name is None:
        operator.check_name()
    else:
        operator.rename(name)
    _KEPT.add(operator)
    return f"{NAME}::{operator.name}"


class Operator:
    """torch operator of a kernel; it is called like the kernel."""

    def __init__(self, kernel: Launchable[Declaration]) -> None:
        """Define the torch operator of a kernel, and its functions for torch's dispatcher."""
        self.kernel = kernel
        self.signature = signature_of(kernel.declaration)
        fingerprint = fingerprint_of(kernel)
        self._base, self._unknown = f"{kernel.name}_{fingerprint.digest[:8]}", fingerprint.unknown
        self._chosen = False  # whether the user passed an operator name to `register`
        self.name = _claim(self._base)
        self.literals = Literals(kernel.name, fingerprint.digest, whole=not fingerprint.unknown)
        self._fixed = {*kernel.declaration.templates, *kernel.declaration.dimensions}
        self._numbers = {number.name: number for number in self.signature.numbers}
        sizes = kernel.declaration.dimensions
        # Scalar parameters that affect no shape; a size may also be a `raw_params` entry.
        self.scalars = tuple(each.name for each in self.signature.numbers if each.raw and each.name not in sizes)
        self._plans: dict[str, Plans] = {}
        # One torch OpOverloadPacket for each name that this operator has had: captured graphs may call former names.
        self._packets: list[Packet] = []
        self._define()

    def __call__(self, /, *tensors: torch.Tensor, **keywords: object) -> object:
        """Run the kernel through torch's dispatcher, after checks of the arguments that need no tensor memory."""
        self.signature.check_count(len(tensors))
        own, out = self._sorted(keywords)
        self._check_storage(tensors, out)
        numbers = {name: self._encode(self._numbers[name], own.pop(name)) for name in self._numbers if name in own}
        if not tensors and out is None:
            numbers[self.signature.device] = self._device(own)
        fixed = {name: as_constant(value) for name, value in own.items()}
        return self._dispatch(tensors, out, {**numbers, self.signature.keywords: self._spelt(fixed)})

    def _check_storage(self, tensors: Sequence[torch.Tensor], out: object) -> None:
        """Raise LayoutError or DeviceError for an input or output tensor that a kernel cannot access."""
        for at, (name, tensor) in enumerate(zip(self.signature.inputs, tensors, strict=True)):
            check_storage(self.kernel.name, name, tensor, written=at in self.signature.mutated)
        for name, output in zip(self.signature.outputs, _given(out), strict=False):
            if isinstance(output, torch.Tensor):
                check_storage(self.kernel.name, f"out= for {name}", output, written=True)

    def _define(self) -> None:
        """Define the torch operator under the current name, which later calls use."""
        library = define(self)
        weakref.finalize(self, _forget, library, self.name).atexit = False
        packet = getattr(NAMESPACE, self.name)
        self._packets.append(packet)
        self.default = packet.default
        # Overload of the torch operator for calls with `out=`.
        self.into = packet.out if self.signature.outputs else self.default
        self.default.pyptx_operator = self.into.pyptx_operator = self

    def rename(self, name: str) -> None:
        """Define the torch operator also under the user's name; raise OperatorNameError if this is impossible."""
        with _LOCK:
            if self._chosen and self.name != name:
                raise OperatorNameError(
                    f"{self.kernel.name} is already registered as {NAME}::{self.name}, got name={name!r}",
                    help="register a kernel under one name only",
                )
            if self.name != name:
                _check_name(self.kernel.name, name)
                self.name = name
                _NAMES.add(name)
                self._define()
            self._chosen = True
            self.literals.name_is_chosen()

    def check_name(self) -> None:
        """Raise OperatorNameError unless the operator's name identifies this kernel in every process."""
        if self._chosen:
            return
        help = (
            f'choose a name: pyptx_torch.register({self.kernel.name}, name="…"), here and before the program is loaded'
        )
        if self._unknown:
            raise OperatorNameError(
                f"the operator of {self.kernel.name} needs a name: the kernel uses {self._unknown[0]}, which "
                "cannot be compared between processes",
                help=help,
            )
        if self.name == self._base:
            return
        gc.collect()  # frees dead kernels, which are in a reference cycle with their operators
        with _LOCK:
            if self._base not in _NAMES:
                self.name = self._base
                _NAMES.add(self._base)
                self._define()
                return
        raise OperatorNameError(
            f"the operator of {self.kernel.name} needs a name: another live kernel has the same code and values",
            help=help,
        )

    def plans(self, place: DeviceType) -> Plans:
        """Return the kernel's plan cache for a device type, created at first use."""
        known = self._plans.get(place.type)
        if known is None:
            from pyptx_torch.plans import Plans

            known = self._plans.setdefault(place.type, Plans(self, place))
        return known

    def traceable(self, /, *tensors: torch.Tensor, **keywords: object) -> object:
        """Call the operator from a function that torch.compile traces.

        Sizes and `raw_params` values may be symbols. A template value affects the PTX, so it is a constant of the
        graph: if it is an argument of the compiled function, the function is compiled once per value.
        """
        if len(tensors) != len(self.signature.inputs):
            self._refuse(len(tensors))
        own, out = self._sorted(keywords)
        # The arguments are collected in a loop, not a comprehension, so that torch.compile can trace this function.
        arguments: dict[str, object] = {}
        for name in self._numbers:
            if name in own:
                arguments[name] = own.pop(name)
        if not tensors and out is None and "device" not in self._fixed:
            arguments[self.signature.device] = own.pop("device", None)
        if own or self._is_recording():
            fixed = [as_constant(value) for value in own.values()]
            arguments[self.signature.keywords] = self._spell(tuple(own), *fixed)
        return self._dispatch(tensors, out, arguments)

    def _sorted(self, keywords: Mapping[str, object]) -> tuple[dict[str, object], object]:
        """Return the kernel's own keywords of a call, and the value of `out=`."""
        own = dict(keywords)
        return own, own.pop("out", None)

    def _dispatch(self, tensors: Sequence[torch.Tensor], out: object, arguments: Mapping[str, object]) -> object:
        if out is None:
            return self.default(*tensors, **arguments)
        given = _given(out)
        tensors_too = tuple(isinstance(tensor, torch.Tensor) for tensor in given)
        if len(given) != len(self.signature.outputs) or not all(tensors_too):
            self._refuse_outputs(tensors_too)
        self.into(*tensors, *given, **arguments)
        return given[0] if len(given) == 1 else given

    @called_while_compiling
    def _refuse(self, given: int) -> None:
        """Raise ArgumentCountError for a wrong number of tensors; torch.compile calls this method while it traces."""
        self.signature.check_count(given)

    @called_while_compiling
    def _refuse_outputs(self, tensors: Sequence[bool]) -> None:
        """Raise the error for an invalid `out=`; torch.compile calls this method while it traces."""
        self.signature.check_outputs(tensors)

    @called_while_compiling
    def _spell(self, names: Sequence[str], *values: object) -> str:
        """Return fixed keywords as text for a graph; torch.compile calls this method while it traces."""
        return self._spelt(dict(zip(names, values, strict=True)))

    @called_while_compiling
    def _is_recording(self) -> bool:
        """Return whether torch records a program that may be saved; torch.compile calls this method while it traces."""
        return is_recording()

    def _spelt(self, fixed: Mapping[str, object]) -> str:
        """Return fixed keywords as text; raise an error for an exported call that no other process can reproduce."""
        if torch.compiler.is_exporting():
            self.check_name()
            self.literals.check(fixed)
        return self.literals.spell(fixed, signed=is_recording())

    def _encode(self, number: Number, value: object) -> object:
        """Return a size or `raw_params` value as the operator's argument; raise KeywordError unless it is a number."""
        if isinstance(value, torch.SymInt | torch.SymFloat):
            return value
        if isinstance(value, torch.Tensor):
            raise KeywordError(
                f"{self.kernel.name}: {number.name} must be a number, got a tensor",
                help=f"pass {number.name}=tensor.item(), which synchronizes with the device",
            )
        return number.encode(self.kernel.name, value)

    def read(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the fixed keywords that an operator call carries as text.

        Raises KernelMismatchError if a program that was saved with another kernel calls this one.
        """
        return self.literals.read(cast("str", arguments.get(self.signature.keywords, "")))

    def numbers(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return the sizes and `raw_params` values of an operator call, decoded for the kernel."""
        return {
            name: number.decode(arguments[name])
            for name, number in self._numbers.items()
            if arguments.get(name) is not None
        }

    def _device(self, own: dict[str, object]) -> torch.device:
        """Remove `device=` from the keywords of a call without tensors, and return this device."""
        given = own.pop("device", None) if "device" not in self._fixed else None
        if given is None:
            return torch.get_default_device()
        try:
            device = torch.device(cast("str", given))
        except (RuntimeError, TypeError) as error:
            raise DeviceError(f"{self.kernel.name}: invalid torch device {given!r}: {error}") from None
        check_device(self.kernel.name, "device= is", device)
        return device


def _given(out: object) -> tuple[object, ...]:
    """Return the tensors of `out=` as a tuple."""
    if isinstance(out, tuple | list):
        return tuple(cast("Sequence[object]", out))
    return () if out is None else (out,)


def _claim(base: str) -> str:
    """Reserve and return an unused operator name: `base`, or `base` with a number appended."""
    with _LOCK:
        name, number = base, 1
        while name in _NAMES:
            number += 1
            name = f"{base}_{number}"
        _NAMES.add(name)
    return name


def _check_name(kernel: str, name: str) -> None:
    """Raise OperatorNameError for an operator name that is taken or that torch does not allow."""
    if re.fullmatch("[A-Za-z][A-Za-z0-9_]*", str(name)) is None:
        raise OperatorNameError(
            f"invalid name for the operator of {kernel}: expected an identifier of ASCII letters, got {name!r}",
            help='pass name="my_kernel" to define pyptx::my_kernel',
        )
    if name in _NAMES or hasattr(NAMESPACE, name):
        raise OperatorNameError(
            f"operator name {NAME}::{name} is already used, got it for {kernel}",
            help="choose another name, and register the kernel under it before saving and before loading programs",
        )


def _forget(library: Library, name: str) -> None:
    """Remove from torch an operator that can no longer be called, and free its name."""
    destroy(library)
    _NAMES.discard(name)
