"""Kernels of the dispatch key CUDA: a CPU kernel computes on the bytes of the CUDA tensors.

An operator that computes is called with CPU tensors over the arguments' bytes, and its results are copied to device
memory. An operator that only changes shapes or strides runs its CPU kernel with the CUDA tensors themselves. That
kernel reads no elements, and its result shares the storage and keeps the device.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import torch

from pyptx_virtual.torch.libraries import new_library
from pyptx_virtual.torch.mixing import check_device, check_devices
from pyptx_virtual.torch.schemas import (
    COMPOSITE,
    NAMESPACES,
    Schema,
    computes,
    has_kernel,
    overload_of,
    qualified_name,
    schema_of,
)
from pyptx_virtual.torch.untraced import untraced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyptx_virtual.torch.graphs import Kernel, Recorder
    from pyptx_virtual.torch.libraries import Library
    from pyptx_virtual.torch.overrides import Overrides
    from pyptx_virtual.torch.random_numbers import RandomNumbers
    from pyptx_virtual.torch.schemas import Overload, Place
    from pyptx_virtual.torch.storages import Pairs, Storages

_CPU: Final = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)  # noqa: SLF001 - redispatch has no public spelling
_HOST: Final = torch.device("cpu")
_PLAIN: Final = frozenset({int, float, bool, complex, str, type(None), torch.dtype, torch.layout, torch.memory_format})

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class Operators:
    """The CUDA kernels of all operators."""

    def __init__(
        self,
        storages: Storages,
        random_numbers: RandomNumbers,
        overrides: Overrides,
        recorder: Recorder,
        synchronize: Callable[[], None],
    ) -> None:
        self._storages = storages
        self._random = random_numbers
        self._overrides = overrides
        self._recorder = recorder
        self._synchronize = synchronize
        self._kernels: dict[Overload, Callable[..., object]] = {}
        self._libraries: list[Library] = []

    def register(self) -> None:
        """Register a kernel for every operator under the dispatch key CUDA.

        A fallback gets the operators without a CUDA kernel. Operators with a composite kernel do not reach the fallback
        and are registered one by one. So are operators with CUDA kernels of torch's own, in CUDA builds. Views are left
        to these kernels, which do not access device memory.
        """
        fallback = new_library("_")
        fallback.fallback(untraced(self.call), "CUDA")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*[Oo]verridd?", UserWarning)  # kernels are replaced on purpose
            self._libraries = [fallback, *self._registered()]

    def _registered(self) -> list[Library]:
        libraries = {name: new_library(name) for name in ("aten", "prims")}
        for name in torch._C._dispatch_get_all_op_names():  # noqa: SLF001 - no public spelling
            namespace = name.partition("::")[0]
            if namespace not in libraries or not has_kernel(name, "CUDA", *COMPOSITE):
                continue
            overload = overload_of(name)
            if overload is not None and (overload in self._overrides.table or computes(overload)):
                kernel = untraced(partial(self.call, overload))
                libraries[namespace].impl(overload, kernel, "CUDA", allow_override=has_kernel(name, "CUDA"))
        return list(libraries.values())

    def call(self, overload: Overload, *args: object, **kwargs: object) -> object:
        """Execute an operator for which the dispatcher has chosen the key CUDA."""
        kernel = self._kernels.get(overload)
        if kernel is None:
            kernel = self._kernels[overload] = self._kernel(overload)
        with torch._C.DisableTorchFunction():  # noqa: SLF001 - modes of the caller see its calls, not ours
            if self._recorder.capturing and computes(overload):
                return self._recorded(overload, kernel, args, kwargs)
            return kernel(args, kwargs)

    def _recorded(self, overload: Overload, kernel: Kernel, args: Arguments, kwargs: Keywords) -> object:
        """Record a call in the graph of the captured stream."""
        places = schema_of(overload).written
        written = [each for place in places for each in _tensors(_argument(place, args, kwargs))]
        return self._recorder.record(qualified_name(overload), kernel, args, kwargs, written)

    def _kernel(self, overload: Overload) -> Kernel:
        """Return the function that executes an operator, for any arguments."""
        override = self._overrides.table.get(overload)
        if override is not None:
            return lambda args, kwargs: override(*args, **kwargs)
        schema = schema_of(overload)
        if overload.namespace not in NAMESPACES or not schema.has_kernel:
            return partial(_refuse, overload)
        if schema.is_view:
            return lambda args, kwargs: overload.redispatch(_CPU, *args, **kwargs)
        if schema.is_random:
            return partial(self._compute_at_random, schema)
        return partial(self._compute, schema)

    def _compute_at_random(self, schema: Schema, args: Arguments, kwargs: Keywords) -> object:
        """Execute an operator whose random numbers come from a CUDA generator."""
        generator = kwargs.get("generator") or next((each for each in args if type(each) is torch.Generator), None)
        args = tuple(None if each is generator else each for each in args)
        if kwargs.get("generator") is not None:
            kwargs = {**kwargs, "generator": None}
        with self._random.used_by_cpu_kernels(generator):
            return self._compute(schema, args, kwargs)

    def _compute(self, schema: Schema, args: Arguments, kwargs: Keywords) -> object:
        """Execute an operator on CPU tensors over the arguments' bytes."""
        if not self._recorder.inside:  # the predecessors of an operator that a graph executes are complete
            self._synchronize()
        device = _device_of(schema, args, kwargs)
        check_device(device)
        pairs: Pairs = []
        strangers: list[torch.Tensor] = []
        host_args = [self._to_host(each, pairs, strangers) for each in args]
        host_kwargs = {name: self._to_host(each, pairs, strangers) for name, each in kwargs.items()}
        if strangers and pairs:
            check_devices(schema, pairs[0][0], strangers)
        if kwargs.get("pin_memory") and (device is None or device.type == "cuda"):
            raise RuntimeError("Only dense CPU tensors can be pinned")
        try:
            result = schema.overload(*host_args, **host_kwargs)
        except RuntimeError as error:
            if not schema.outputs or "resiz" not in str(error):
                raise
            return self._compute_resized(schema, args, kwargs)
        self._finish_written(schema, args, kwargs, dict_of(pairs))
        return self._results(schema, args, kwargs, pairs, result)

    def _compute_resized(self, schema: Schema, args: Arguments, kwargs: Keywords) -> object:
        """Execute an operator that must resize its `out` arguments, with outputs in host memory of their own."""
        outputs = {place: kwargs[place] for place in schema.outputs if isinstance(kwargs.get(place), torch.Tensor)}
        owned = {place: torch.empty_like(self._storages.host(each)) for place, each in outputs.items()}
        rest = {name: each for name, each in kwargs.items() if name not in owned}
        pairs: Pairs = []
        host_args = [self._to_host(each, pairs, []) for each in args]
        host_rest = {name: self._to_host(each, pairs, []) for name, each in rest.items()}
        schema.overload(*host_args, **host_rest, **owned)
        for place, host in owned.items():
            self._adopt(outputs[place], host)
        return self._results(schema, args, kwargs, pairs, None)

    def _adopt(self, output: torch.Tensor, host: torch.Tensor) -> None:
        """Give an output the shape and the elements of a CPU tensor."""
        if output.shape != host.shape:
            self._overrides.resize(output, host.shape)
            if host.numel():
                output.as_strided_(host.shape, host.stride())
        self._storages.host(output).copy_(host)
        self._storages.mark_written(output)

    def _finish_written(
        self, schema: Schema, args: Arguments, kwargs: Keywords, hosts: dict[int, torch.Tensor]
    ) -> None:
        for place in schema.written:
            for each in _tensors(_argument(place, args, kwargs)):
                host = hosts.get(id(each))
                if host is None:  # a CPU tensor
                    continue
                if host.shape != each.shape:
                    self._adopt(each, host)
                else:
                    self._storages.mark_written(each)

    def _results(self, schema: Schema, args: Arguments, kwargs: Keywords, pairs: Pairs, result: object) -> object:
        """Return the call's results: arguments that were written, and new tensors on the call's device."""
        device = _device_of(schema, args, kwargs)
        to_device = device is None or device.type == "cuda"
        values = result if len(schema.returns) > 1 else (result,)
        if len(schema.returns) > 1 and result is None:
            values = (None,) * len(schema.returns)
        found = [
            self._to_device(value, pairs, to_device=to_device) if place is None else _argument(place, args, kwargs)
            for place, value in zip(schema.returns, cast("tuple[object, ...]", values), strict=False)
        ]
        return found[0] if len(found) == 1 else tuple(found) if found else None

    def _to_device(self, value: object, pairs: Pairs, *, to_device: bool) -> object:
        if isinstance(value, torch.Tensor):
            if not to_device:
                return value
            owner = self._storages.owner(value, pairs)
            return self._storages.upload(value) if owner is None else owner
        if isinstance(value, (list, tuple)):
            return [self._to_device(each, pairs, to_device=to_device) for each in cast("Sequence[object]", value)]
        return value

    def _to_host(self, value: object, pairs: Pairs, strangers: list[torch.Tensor]) -> object:
        """Return the argument for the CPU kernel; record CUDA tensors in `pairs`, CPU tensors in `strangers`."""
        if type(value) in _PLAIN:
            return value
        if isinstance(value, torch.Tensor):
            if not value.is_cuda:
                strangers.append(value)
                return value
            host = self._storages.host(value)
            pairs.append((value, host))
            return host
        if isinstance(value, (list, tuple)):
            return [self._to_host(each, pairs, strangers) for each in cast("Sequence[object]", value)]
        if isinstance(value, torch.device):
            return _HOST if value.type == "cuda" else value
        return value


def dict_of(pairs: Pairs) -> dict[int, torch.Tensor]:
    """Return the CPU tensors by the identity of the CUDA tensors."""
    return {id(tensor): host for tensor, host in pairs}


def _argument(place: Place, args: Arguments, kwargs: Keywords) -> Any:  # noqa: ANN401 - any argument of any operator
    if isinstance(place, str):
        return kwargs.get(place)
    return args[place] if place < len(args) else None


def _device_of(schema: Schema, args: Arguments, kwargs: Keywords) -> torch.device | None:
    """Return the device that the call requests for its results, if any."""
    return None if schema.device is None else _argument(schema.device, args, kwargs)


def _tensors(value: object) -> list[torch.Tensor]:
    values = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else (value,)
    return [each for each in values if isinstance(each, torch.Tensor)]


def _refuse(overload: Overload, _args: Arguments, _kwargs: Keywords) -> object:
    raise NotImplementedError(
        f"Could not run '{qualified_name(overload)}' with arguments from the 'CUDA' backend: it has no CUDA kernel, "
        f"and the virtual GPU has no CPU kernel to compute it with."
    )
