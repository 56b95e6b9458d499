"""Cache of a kernel's launch plans, one per device, shapes, strides and dtypes of inputs, and fixed keywords."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, cast

import torch

from pyptx_dsl.contract.arguments import dense_strides
from pyptx_dsl.contract.specs import Layout
from pyptx_dsl.errors import DeviceError
from pyptx_dsl.kernels.images import image_of
from pyptx_dsl.kernels.keys import freeze, is_immutable
from pyptx_dsl.once import OncePerKey
from pyptx_ir.plugins.descriptors import described_alignments
from pyptx_launch import Launcher, Module, Signature, driver, plan_for
from pyptx_launch.errors import DriverMissingError
from pyptx_launch.launchers import MAX_TENSORS
from pyptx_launch.libcuda import relaxed_capture
from pyptx_launch.retired import RETIRED
from pyptx_torch.devices import NAMES, argument_of, dtype_of
from pyptx_torch.internals import GUARDS, TENSOR_GUARDS, VARIABLES, count_versions, is_capturing
from pyptx_torch.native import codes_of, native
from pyptx_torch.outputs import prototype

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from pyptx_ir.plugins.rows import Output, Specialization
    from pyptx_launch import Plan
    from pyptx_torch.device_types import DeviceType
    from pyptx_torch.operators import Operator

    # Key of a launch plan: device ordinal; shape, strides, dtype and device of the inputs; fixed keywords.
    Key = tuple[int, Hashable, Hashable]

NOT_MET: Final = object()
"""Result of `Plans.again` for inputs without a plan, or after a launcher miss."""

LIMIT: Final = 1024
"""Maximum number of cached plans of a kernel; the least recently used plans are dropped."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Ready:
    """A plan with its outputs and the required address alignment of each input and output, in bytes.

    `plan` is None if an array is empty, so that the grid has no CTAs.
    """

    plan: Plan | None
    outputs: tuple[Output, ...]
    alignments: tuple[int, ...]


class Plans:
    """Plan cache of one kernel on one device type.

    At most LIMIT plans are cached. A plan that a CUDA graph has captured is kept as long as the kernel, since the graph
    refers to its code. The kernel of a dropped plan may be running: its module is unloaded only after the kernel has
    finished.
    """

    def __init__(self, operator: Operator, place: DeviceType, limit: int = LIMIT) -> None:
        """Create an empty plan cache; no reference to `operator` is kept."""
        self._kernel = operator.kernel
        self._inputs = operator.signature.inputs
        self._mutated = operator.signature.mutated
        self._scalars = tuple(operator.scalars)
        self._place = place
        self._limit = limit
        # Lock of the attributes below; no thread holds the lock while it traces, compiles, loads or waits.
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, Ready] = OrderedDict()
        self._captured = dict[int, Ready]()
        self._fast: dict[Key, _Fast] = {}
        # Indices of the input tensors that a kernel writes, by the kernel's launcher.
        self._launchers: dict[Launcher, tuple[int, ...]] = {}
        self._again: Launcher | None = None
        # Loaded CUDA modules, by PTX text and compilation target.
        self._modules = OncePerKey[tuple[str, str], Module]()

    def __len__(self) -> int:
        """Return the number of cached plans."""
        return len(self._known)

    def find(self, inputs: Sequence[torch.Tensor], keywords: Mapping[str, object], device: torch.device) -> Ready:
        """Return the plan for a call, created if necessary; raise ContractError for inputs that violate a Tile."""
        fixed = freeze({name: value for name, value in keywords.items() if name not in self._scalars})
        looks = tuple((tensor.shape, tensor.stride(), tensor.dtype, tensor.device) for tensor in inputs)
        # A call whose fixed keywords cannot be hashed gets its own plan under a unique key. The plan stays in the
        # cache, because its kernel may be running when the call returns.
        key: Key = (device.index, looks, object() if fixed is None else fixed)
        with self._lock:
            ready = self._known.get(key)
            if ready is not None:
                self._known.move_to_end(key)
        if ready is None or _misaligned(inputs, ready):
            ready = self._make(key, inputs, keywords)
        if self._place.capturing():
            with self._lock:
                self._captured[id(ready)] = ready
        return ready

    def again(self, inputs: Sequence[torch.Tensor], keywords: Mapping[str, object]) -> object:
        """Launch the plan of an earlier call with the same keywords and input properties; return new outputs.

        For calls from torch's dispatcher, which increments tensor versions itself. Returns NOT_MET, without a launch,
        if no plan matches or if the launcher reports a miss.
        """
        if self._again is None:
            self._again = self._new_launcher(_not_met, counted=())
        return self._again(*inputs, **keywords)

    def attach(self, miss: Callable[..., object]) -> Launcher:
        """Return a launcher of the plans that forwards other calls to `miss`; it accepts numbers by position, too."""
        return self._new_launcher(miss, counted=tuple(self._mutated), positions=self._kernel.declaration.scalars)

    def _new_launcher(
        self, miss: Callable[..., object], *, counted: tuple[int, ...], positions: Sequence[tuple[int, str]] = ()
    ) -> Launcher:
        direct, known = native(), self._kernel.declaration.keywords
        launcher = Launcher(
            miss,
            types=(torch.Tensor, torch.nn.Parameter),
            guards=GUARDS if direct is None else (),
            variables=VARIABLES,
            tensor_guards=TENSOR_GUARDS,
            grad_mode=torch.is_grad_enabled,
            scalars=self._scalars,
            fixed=tuple(known - {*self._scalars, "out"}),
            positions=positions,
            device=None if "device" in known else "device",
            place=self._device_word,
            empty_like=torch.empty_like,
            count_writes=count_versions,
            native=direct,
        )
        with self._lock:
            self._launchers[launcher] = counted
            self._teach([launcher], self._fast.values())
        return launcher

    def _device_word(self, witness: object) -> int:
        """Return the DLPack device of a call without inputs, from `out=` or `device=`; -1 for another device type."""
        first = cast("tuple[object, ...]", witness or (None,))[0] if isinstance(witness, tuple) else witness
        try:
            device = first.device if isinstance(first, torch.Tensor) else torch.device(cast("str", first))
        except (RuntimeError, TypeError):
            return -1
        return self._place.dlpack << 32 | self._place.device(device).index if device.type == self._place.type else -1

    def _make(self, key: Key, inputs: Sequence[torch.Tensor], keywords: Mapping[str, object]) -> Ready:
        check_driver(self._kernel.name, self._place)
        arguments = [argument_of(self._kernel.name, *named) for named in zip(self._inputs, inputs, strict=True)]
        special = self._kernel.specialize(arguments, keywords)
        if 0 in special.grid:
            return self._keep(key, Ready(None, special.outputs, _alignments(special, inputs)), None)
        on = driver.devices()[key[0] or 0]
        # Specializations with equal PTX (for example with other grids) share one loaded module.
        module = self._modules.get((special.text, on.target), lambda: Module(image_of(special, on.target)))
        plan = plan_for(special, module, on.multiprocessors)
        made = Ready(plan, special.outputs, _alignments(special, inputs))
        fixed = {name: value for name, value in keywords.items() if name not in self._scalars}
        lasting = all(map(is_immutable, fixed.values()))
        return self._keep(key, made, self._fast_for(plan, made, inputs, fixed, on.ordinal) if lasting else None)

    def _keep(self, key: Key, made: Ready, fast: _Fast | None) -> Ready:
        """Store a plan and its launcher data, unless the key has a plan; return the stored plan."""
        with self._lock:
            ready = self._known.setdefault(key, made)  # the existing plan if another thread has just added one
            if ready is made:
                self._make_room()
                if fast is not None:
                    self._fast[key] = fast
                    self._teach(self._launchers, [fast])
        return ready

    def _fast_for(
        self, plan: Plan, ready: Ready, inputs: Sequence[torch.Tensor], fixed: Mapping[str, object], ordinal: int
    ) -> _Fast | None:
        """Return the data with which launchers match a plan; None if the kernel has no tensor or over MAX_TENSORS."""
        if not 0 < len(inputs) + len(ready.outputs) <= MAX_TENSORS:
            return None
        device = (self._place.dlpack, ordinal)
        with relaxed_capture():  # relaxed: temporary allocations must not invalidate another thread's stream capture
            on = inputs[0].device if inputs else torch.device(self._place.type, ordinal)
            like = tuple(prototype(self._kernel.name, output, on) for output in ready.outputs)
        return _Fast(
            plan,
            tuple(
                Signature(tuple(tensor.shape), tuple(tensor.stride()), _told(tensor.dtype), device, alignment)
                for tensor, alignment in zip(inputs, ready.alignments, strict=False)
            ),
            tuple(
                _signature(self._kernel.name, output, device, alignment)
                for output, alignment in zip(ready.outputs, ready.alignments[len(inputs) :], strict=True)
            ),
            like,
            tuple(map(codes_of, like)),
            fixed,
        )

    def _teach(self, launchers: Iterable[Launcher], plans: Iterable[_Fast]) -> None:
        """Add plans to launchers; the caller holds `_lock`."""
        for launcher, fast in product(launchers, plans):
            launcher.add(
                fast.plan,
                fast.inputs,
                fast.outputs,
                like=fast.like,
                codes=fast.codes,
                mutated=self._launchers[launcher],
                fixed=fast.fixed,
            )

    def _make_room(self) -> None:
        """Drop the least recently used quarter of the plans if there are too many; the caller holds `_lock`."""
        if len(self._known) <= self._limit:
            return
        for _ in range(max(1, self._limit // 4)):
            key, _ = self._known.popitem(last=False)
            self._fast.pop(key, None)
        for launcher in self._launchers:
            launcher.forget()
        self._teach(self._launchers, self._fast.values())


@dataclass(frozen=True, slots=True)
class _Fast:
    """A plan and the data with which launchers match a call: tensor signatures, output prototypes, fixed keywords."""

    plan: Plan
    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    like: tuple[torch.Tensor, ...]
    codes: tuple[tuple[int, ...], ...]
    fixed: Mapping[str, object]


def _not_met(*_tensors: object, **_keywords: object) -> object:
    return NOT_MET


def check_driver(kernel: str, place: DeviceType) -> None:
    """Raise DriverMissingError without a usable CUDA driver, DeviceError if torch lacks the device type."""
    if not driver.available():
        raise DriverMissingError(f"{kernel} cannot be launched: {driver.reason()}")
    if not place.built():
        raise DeviceError(
            f"{kernel}: this torch is built without {place.type}", help=f"install a torch build with {place.type}"
        )
    # Unloading code records an event, which would invalidate a stream capture, so it is postponed during captures.
    RETIRED.guard(is_capturing)


def _alignments(special: Specialization, inputs: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """Return the required alignment of each array's address, from its Tile and its tensor maps."""
    described = described_alignments(special.parameters)
    sizes = [row.alignment for row in special.inputs] or [tensor.element_size() for tensor in inputs]
    sizes += [output.alignment for output in special.outputs]
    return tuple(max(size, described.get(index, 1)) for index, size in enumerate(sizes))


def _misaligned(inputs: Sequence[torch.Tensor], ready: Ready) -> bool:
    return any(tensor.data_ptr() % wanted for tensor, wanted in zip(inputs, ready.alignments, strict=False))


def _signature(kernel: str, output: Output, device: tuple[int, int], alignment: int) -> Signature:
    dtype = _told(dtype_of(kernel, output.name, output.dtype))
    contiguous = output.strides == dense_strides(output.shape, Layout.ROW)
    return Signature(output.shape, None if contiguous else output.strides, dtype, device, alignment)


def _told(dtype: torch.dtype) -> str:
    """Return the name of a dtype in `Signature`: its PTX name, or `bool`, which DLPack distinguishes from bytes."""
    return "bool" if dtype is torch.bool else NAMES[dtype]
