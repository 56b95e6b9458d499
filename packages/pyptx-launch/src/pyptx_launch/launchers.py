"""Eager fast path: a callable that launches cached plans and forwards all other calls to a miss handler."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from dataclasses import astuple, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from pyptx_launch import _shim
from pyptx_launch.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from pyptx_launch.plans import Plan

MAX_TENSORS: Final = _shim.MAX_TENSORS
"""Maximum number of tensors per call; the launcher passes a call with more tensors to `miss`."""

# DLPack DLDataType by PTX type name: code, bits, lanes.
_DTYPES: Final = {
    **{f"s{bits}": (0, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (1, bits, 1) for bits in (8, 16, 32, 64)},
    **{f"f{bits}": (2, bits, 1) for bits in (16, 32, 64)},
    "bf16": (4, 16, 1),
    "bool": (6, 8, 1),
    "e4m3": (10, 8, 1),
    "e5m2": (12, 8, 1),
    "ue8m0": (14, 8, 1),
    "e2m1x2": (17, 4, 2),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """Signature of one tensor: the properties that a tensor must have to match a plan.

    `strides` count elements, None for a contiguous tensor; the stride of a dimension of extent 1 is ignored. `dtype` is
    the PTX name (or `bool`, or `e2m1x2`: bytes of two elements). `device` is DLPack's pair of device type (2 is CUDA, 1
    the CPU) and ordinal. The address must be a multiple of `alignment` bytes.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    dtype: str = "f32"
    device: tuple[int, int] = (2, 0)
    alignment: int = 1

    @property
    def words(self) -> tuple[int, ...]:
        """Integers that the native extension compares with a tensor's: device, dtype and rank, extents and strides."""
        code, bits, lanes = _DTYPES[self.dtype]
        pairs = ((extent, 0 if extent == 1 else stride) for extent, stride in zip(self.shape, self.steps, strict=True))
        head = (self.device[0] << 32 | self.device[1], len(self.shape) << 32 | lanes << 16 | bits << 8 | code)
        return (*head, *chain.from_iterable(pairs))

    @property
    def nbytes(self) -> int:
        """Bytes of a dense tensor with this shape and element type."""
        _, bits, lanes = _DTYPES[self.dtype]
        return math.prod(self.shape) * bits * lanes // 8

    @property
    def steps(self) -> tuple[int, ...]:
        """Strides in elements, also for a contiguous tensor."""
        if self.strides is not None:
            return self.strides
        strides = [1]
        for extent in self.shape[:0:-1]:
            strides.append(strides[-1] * extent)
        return tuple(strides[::-1])[: len(self.shape)]

    def check(self, entry: str) -> None:
        """Raise LaunchError if no tensor can have these properties."""
        if self.dtype not in _DTYPES:
            raise LaunchError(f"{entry}: unsupported tensor type {self.dtype}: DLPack types are {', '.join(_DTYPES)}")
        if self.strides is not None and len(self.strides) != len(self.shape):
            raise LaunchError(f"{entry}: invalid strides {self.strides} of a tensor of shape {self.shape}")
        if self.alignment < 1:
            raise LaunchError(f"{entry}: alignment of a tensor must be a positive int, got {self.alignment}")


@dataclass(frozen=True, slots=True)
class Native:
    """Addresses of functions in a framework's libraries, which a launcher calls instead of Python objects.

    The Python object of a tensor holds a pointer to its implementation at byte `offset`. Functions of a tensor take the
    address of that pointer, as C++ passes a handle by reference; `requires_grad` takes the pointer itself, like a
    method. `guards` are functions `bool(uint16)`, each with its argument; `grad_mode` takes none. `bump_version` is
    called for written tensors, unless `is_inference` returns true for them. `storage_size` is `int(handle, int64_t*
    bytes)`, 0 if not available. A tensor whose storage has no bytes is a miss: the address of a view of freed storage
    is only the view's offset. `empty` allocates a tensor and is called without the GIL: `int(int64_t rank, sizes,
    strides, int32_t code, int32_t code, int32_t code, void** handle)`. `wrap` returns its Python object, and `drop`
    frees the handle. Without these three functions (0), Python's `empty_like` allocates.

    The addresses cannot be validated: a wrong one crashes the process. `symbol_address` finds functions by name.
    """

    offset: int
    guards: tuple[tuple[int, int], ...]
    tensor_guards: tuple[int, ...]
    grad_mode: int
    requires_grad: int
    is_inference: int
    bump_version: int
    storage_size: int = 0
    empty: int = 0
    wrap: int = 0
    drop: int = 0


def symbol_address(library: str, name: str) -> int:
    """Return the address of a symbol in an already loaded shared library; 0 if either is missing."""
    try:
        loaded = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return 0
    function = getattr(loaded, name, None)
    return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def _new(
    cls: type,
    miss: Callable[..., object],
    *,
    types: Sequence[type],
    guards: Sequence[Callable[[], object]] = (),
    grad_mode: Callable[[], object] | None = None,
    scalars: Sequence[str] = (),
    fixed: Sequence[str] = (),
    positions: Sequence[tuple[int, str]] = (),
    device: str | None = None,
    place: Callable[[Any], int] | None = None,
    tensor_guards: Sequence[Callable[[Any], object]] = (),
    empty_like: Callable[[Any], object] | None = None,
    count_writes: Callable[[Sequence[Any]], object] | None = None,
    variables: Sequence[tuple[Mapping[str, object], str]] = (),
    native: Native | None = None,
) -> object:
    numbers, others = tuple(map(sys.intern, scalars)), tuple(map(sys.intern, fixed))
    attributes = (sys.intern("out"), sys.intern("requires_grad"))
    usual = tuple((module, sys.intern(name), module[name]) for module, name in variables)
    listed = tuple((position, (*numbers, *others).index(name)) for position, name in sorted(positions))
    groups = (tuple(types), tuple(guards), tuple(tensor_guards), usual, listed, numbers, others)
    row = None
    if native is not None:
        offset, guards_of_native, of_tensor, *rest = astuple(native)
        row = (offset, guards_of_native, of_tensor, tuple(rest))
    references = (miss, grad_mode, *attributes, empty_like, count_writes, device and sys.intern(device), place, *groups)
    return _shim.make_launcher(cls, references, row)


def _add(
    self: Launcher,
    plan: Plan,
    inputs: Sequence[Signature],
    outputs: Sequence[Signature],
    *,
    like: Sequence[object] = (),
    codes: Sequence[Sequence[int]] = (),
    mutated: Sequence[int] = (),
    fixed: Mapping[str, object] | None = None,
) -> None:
    _check_addition(plan, inputs, outputs, mutated)
    if like and (len(like) != len(outputs) or self._references[4] is None):
        raise LaunchError(
            f"{plan.entry}: like needs a prototype per output and a launcher with empty_like: expected {len(outputs)},"
            f" got {len(like)}"
        )
    tensors = (*inputs, *outputs)
    scalars, names = self._references[-2:]
    given = {_fixed_position(name, names, plan): value for name, value in (fixed or {}).items()}
    looks = chain.from_iterable(signature.words for signature in inputs) if inputs else outputs[0].words[:1]
    rows = zip(like, outputs, codes or ((),) * len(like), strict=False)
    _shim.add_plan(
        self,
        plan,
        (*looks, *(-1 - at for at in sorted(given))),
        tuple(signature.words for signature in outputs),
        tuple(signature.alignment for signature in tensors),
        tuple(signature.nbytes for signature in tensors),
        tuple((each, signature.shape, signature.steps, tuple(of)) for each, signature, of in rows),
        tuple(mutated),
        tuple(_position(name, scalars, plan) for name in plan.scalars),
        tuple(given[at] for at in sorted(given)),
    )


def _check_addition(
    plan: Plan,
    inputs: Sequence[Signature],
    outputs: Sequence[Signature],
    mutated: Sequence[int],
) -> None:
    """Raise LaunchError for an invalid signature, an unsupported number of tensors, or invalid indices in `mutated`."""
    tensors = (*inputs, *outputs)
    for signature in tensors:
        signature.check(plan.entry)
    if not tensors or len(tensors) < plan.tensors or len(tensors) > MAX_TENSORS:
        raise LaunchError(
            f"{plan.entry}: a launcher takes 1 to {MAX_TENSORS} tensors and the plan at least {plan.tensors},"
            f" got {len(inputs)} and {len(outputs)} (inputs and outputs)"
        )
    if not all(0 <= index < len(inputs) for index in mutated):
        raise LaunchError(
            f"{plan.entry}: mutated must be indices of inputs, 0 to {len(inputs) - 1}, got {tuple(mutated)}"
        )


def _forget(self: Launcher) -> None:
    _shim.forget_plans(self)


def _fixed_position(name: str, keywords: Sequence[str], plan: Plan) -> int:
    """Return the index of a keyword in the launcher's `fixed` keywords; raise LaunchError for an unknown keyword."""
    if name not in keywords:
        raise LaunchError(f"{plan.entry}: unknown fixed keyword {name!r} of the launcher")
    return keywords.index(name)


def _position(name: str, keywords: Sequence[str], plan: Plan) -> int:
    """Return the index of the launcher keyword that sets a plan's scalar; -1 if the scalar keeps its default value."""
    if name in keywords:
        return keywords.index(name)
    if name not in plan.optional:
        raise LaunchError(f"{plan.entry}: scalar {name!r} has no value and is not a keyword of the launcher")
    return -1


if TYPE_CHECKING:

    class Launcher:
        """Launch plans for tensors that match their signatures; forward all other calls to `miss`.

        A call takes tensors, `out=` and the keywords in `scalars` and `fixed`. Scalars are launch parameters; a plan is
        valid for one value of each fixed keyword, of the same type. `positions` are pairs: the index of an argument,
        and the name of the keyword that a call may pass there. A call without inputs also takes the keyword `device`:
        `place(out or device or None)` returns DLPack's device type << 32 | ordinal, or -1 for a miss.

        A call is a hit if

        - every tensor's type is one of `types` (subclasses do not match),
        - every guard returns false, and each of `tensor_guards` returns false for every tensor,
        - no tensor requires a gradient while `grad_mode()` is true,
        - the tensors of `out` share no memory, and no tensor with elements is at address 0,
        - dtype, shape, strides, device and alignment match a plan.

        Then `count_writes` is called with the tensors of `out` and the mutated inputs, if there are any. The kernel is
        launched on the framework's current stream, and the output is returned: a tuple of several, None for none.
        Without `out`, outputs are allocated by `native.empty`, or by `empty_like(prototype)`. In all other cases the
        whole call is `miss(*tensors, **keywords)`.

        `variables` are pairs of a module's dictionary and a name in it; a call is a miss while such a variable refers
        to another object than when the launcher was created. `native` replaces `grad_mode`, `tensor_guards` and
        `count_writes`; its guards are called in addition to `guards`. A call while the current stream captures a graph
        is a miss.

        Each of `types` must offer DLPack's C exchange API (`__dlpack_c_exchange_api__`), or TypeError is raised.
        Scalars are passed by value; a scalar that is omitted or out of range is a miss. Errors of the framework (no
        memory for an output) and of the driver are raised. Launchers are thread-safe, including `add`.
        """

        def __init__(
            self,
            miss: Callable[..., object],
            *,
            types: Sequence[type],
            guards: Sequence[Callable[[], object]] = (),
            grad_mode: Callable[[], object] | None = None,
            scalars: Sequence[str] = (),
            fixed: Sequence[str] = (),
            positions: Sequence[tuple[int, str]] = (),
            device: str | None = None,
            place: Callable[[Any], int] | None = None,
            tensor_guards: Sequence[Callable[[Any], object]] = (),
            empty_like: Callable[[Any], object] | None = None,
            count_writes: Callable[[Sequence[Any]], object] | None = None,
            variables: Sequence[tuple[Mapping[str, object], str]] = (),
            native: Native | None = None,
        ) -> None: ...

        def __call__(self, *tensors: object, **keywords: object) -> object:
            """Launch the matching plan and return its outputs, or return the result of `miss`."""
            ...

        # Arguments of a launcher's constructor; the last two are the names of scalar parameters and of fixed keywords.
        _references: tuple[Any, ...]

        def add(
            self,
            plan: Plan,
            inputs: Sequence[Signature],
            outputs: Sequence[Signature],
            *,
            like: Sequence[object] = (),
            codes: Sequence[Sequence[int]] = (),
            mutated: Sequence[int] = (),
            fixed: Mapping[str, object] | None = None,
        ) -> None:
            """Launch `plan` for matching inputs and fixed keywords; the first plan for a signature is kept.

            `like` holds a prototype for each output, whose elements are never read; without it, calls without `out` are
            misses. `codes` are, for each output, the three numbers that `Native.empty` takes after sizes and strides.
            `mutated` are the indices of inputs that the kernel writes. The values of `fixed` must be immutable: int,
            float, str and tuple are compared by value, other types by identity.

            Raises LaunchError without tensors, for fewer tensors than the plan needs, and for a scalar with neither a
            value nor a keyword. Also raises it if `like`, `mutated` or `fixed` do not match the plan.
            """
            ...

        def forget(self) -> None:
            """Remove all plans from the launcher; calls that have already found a plan continue with this plan."""
            ...

else:
    Launcher = _shim.launcher_type()
    Launcher.__new__ = staticmethod(_new)
    Launcher.__doc__ = "Launch plans for tensors that match their signatures; forward all other calls to `miss`."
    Launcher.__module__ = __name__
    Launcher.add, Launcher.forget = _add, _forget
