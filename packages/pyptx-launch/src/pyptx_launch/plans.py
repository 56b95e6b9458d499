"""Launch plans: prepared launches, for which a call sets only addresses and scalars."""

from __future__ import annotations

import operator
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from pyptx_launch import _shim, driver
from pyptx_launch.cuda_core import addresses_of, handle_of
from pyptx_launch.errors import LaunchError
from pyptx_launch.parameters import Map, MapPointer, Parameter, Pointer, Row, Scalar, row_of, size_of
from pyptx_launch.tensor_maps import TensorMapLike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_launch.cuda_core import Memory, MemoryView, SupportsCudaStream
    from pyptx_launch.modules import Module

Extents = tuple[int, int, int]

_MAX_GRID: Final = (2**31 - 1, 65535, 65535)
_MAX_PARAMETER_BYTES: Final = 32764  # maximum bytes of all kernel parameters, since compute capability 7.0
_CLUSTER_DIMENSION: Final = 4  # launch attribute number CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class EntryParameterLike(Protocol):
    """Protocol of an entry's parameter: the attributes of `pyptx_ir.plugins.rows.EntryParameter` read here."""

    @property
    def name(self) -> str:
        """Name of the parameter in PTX."""
        ...

    @property
    def kind(self) -> str:
        """Kind of the parameter: `tensor`, `scalar` or `descriptor`."""
        ...

    @property
    def type(self) -> str:
        """PTX type; for a descriptor, `b8` if it is passed by value."""
        ...

    @property
    def index(self) -> int | None:
        """Index of the parameter's tensor; inputs are counted first, then outputs."""
        ...

    @property
    def value(self) -> int | float | None:
        """Value of a scalar parameter."""
        ...

    @property
    def descriptor(self) -> object | None:
        """Descriptor of the parameter's tensor. Only tensor maps are accepted."""
        ...


class SpecializationLike(Protocol):
    """Protocol of a traced kernel: the attributes of `pyptx_ir.plugins.rows.Specialization` read here."""

    @property
    def entry(self) -> str:
        """Name of the entry."""
        ...

    def grid_on(self, multiprocessors: int, /) -> Extents:
        """Return the grid size on a device with this number of SMs."""
        ...

    @property
    def block(self) -> Extents:
        """Threads per CTA."""
        ...

    @property
    def cluster(self) -> Extents:
        """CTAs per cluster."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory in bytes."""
        ...

    @property
    def parameters(self) -> Sequence[EntryParameterLike]:
        """Parameters of the entry, in order."""
        ...

    @property
    def attributes(self) -> Sequence[tuple[int, bytes]]:
        """Launch attributes: CUlaunchAttribute number and value."""
        ...


class Plan(_shim.Plan):
    """Prepare a launch of `entry`: its shape, parameters and launch attributes.

    `grid` counts CTAs (not clusters) and must be divisible by the cluster. `attributes` are CUlaunchAttribute numbers
    with the bytes of their values. Raises LaunchError for an invalid number or for `parameters` that do not match the
    entry's, TensorMapError for a tensor map that violates a rule. Device-dependent limits (shared memory, clusters) are
    checked at the first launch on a device.

    A plan is immutable: any number of threads may launch it, on any devices, and on streams of any context. Tensor maps
    that a kernel takes by pointer stay in device memory of the module while a launch or a captured graph may read them.
    Keep a plan for as long as a CUDA graph contains one of its launches. Launches of a deleted plan run to completion:
    see `Module`.
    """

    __slots__ = ("entry", "module", "optional", "scalars", "tensors")

    def __init__(
        self,
        module: Module,
        entry: str,
        *,
        grid: Extents,
        block: Extents,
        cluster: Extents = (1, 1, 1),
        shared_bytes: int = 0,
        parameters: Sequence[Parameter] = (),
        attributes: Sequence[tuple[int, bytes]] = (),
    ) -> None:
        check_shape(entry, grid, block, cluster, shared_bytes)
        rows = [row_of(parameter) for parameter in parameters]
        self.entry: Final = entry
        self.module: Final = module  # keeps the module alive, so that the kernel's code stays loaded
        scalars = [each for each in parameters if isinstance(each, Scalar)]
        self.scalars: Final = tuple(each.name for each in scalars)
        self.optional: Final = frozenset(each.name for each in scalars if each.value is not None)
        self.tensors: Final = max((each.index + 1 for each in parameters if not isinstance(each, Scalar)), default=0)
        _check_parameters(entry, rows, module.parameters(entry))
        shape = (*grid, *block, *cluster, shared_bytes)
        super().__init__(
            module.kernel(entry),
            module.log_address,
            entry,
            shape,
            rows,
            _packed(entry, cluster, attributes),
            module.pools,
        )

    def launch(
        self,
        pointers: Sequence[int | MemoryView | Memory],
        stream: int | SupportsCudaStream,
        device: int,
        scalars: Mapping[str, int | float] | Sequence[int | float] = (),
    ) -> None:
        """Launch on a stream of a device: a CUstream as a number, or an object with `__cuda_stream__`.

        `pointers` are the addresses of the tensors, by index, or objects with an address, such as cuda.core's
        StridedMemoryView; numbers are fastest. `scalars` are passed by name, or in the order of the parameters. The
        kernel runs in the stream's context; on a default stream, in the device's primary context. The current context
        is restored afterwards. Raises LaunchError, DriverError, and OverflowError for a scalar out of the range of its
        type.
        """
        handle = stream if isinstance(stream, int) else handle_of(stream)
        ordered = self._in_order(scalars) if scalars else ()
        try:
            self.launch_in_order(pointers, handle, device, ordered)
        except TypeError:
            addresses = addresses_of(self.entry, pointers)
            if all(map(operator.is_, addresses, pointers)):
                raise
            self.launch_in_order(addresses, handle, device, ordered)

    def _in_order(self, scalars: Mapping[str, int | float] | Sequence[int | float]) -> tuple[int | float | None, ...]:
        if not isinstance(scalars, Mapping):
            if len(scalars) > len(self.scalars):
                raise LaunchError(f"{self.entry}: too many scalars: expected {len(self.scalars)}, got {len(scalars)}")
            return tuple(scalars)
        for name in scalars:
            if name not in self.scalars:
                raise LaunchError(f"{self.entry}: unknown scalar {name!r}; known: {', '.join(self.scalars) or 'none'}")
        return tuple(map(scalars.get, self.scalars))


def check_shape(entry: str, grid: Extents, block: Extents, cluster: Extents, shared_bytes: int) -> None:
    """Raise LaunchError for a grid, block, cluster or shared memory size that no device allows."""
    for name, extents in (("grid", grid), ("block", block), ("cluster", cluster)):
        _check_extents(entry, name, extents)
    for extent, step, most in zip(grid, cluster, _MAX_GRID, strict=True):
        if extent > most:
            raise LaunchError(f"{entry}: grid {grid} exceeds the limit {_MAX_GRID}")
        if extent % step != 0:
            raise LaunchError(f"{entry}: cluster {cluster} does not divide grid {grid}")
    if not 0 <= shared_bytes < 2**31:
        raise LaunchError(f"{entry}: shared_bytes must be 0 to 2^31 - 1, got {shared_bytes}")


def _check_extents(entry: str, name: str, extents: tuple[int, ...]) -> None:
    if len(extents) != 3 or not all(1 <= extent < 2**31 for extent in extents):
        help = "; skip the launch if the grid is empty" if name == "grid" and 0 in extents else ""
        raise LaunchError(f"{entry}: {name} must be three positive extents, got {extents}{help}")


def _check_parameters(entry: str, rows: Sequence[Row], wanted: Sequence[tuple[int, int]] | None) -> None:
    """Raise LaunchError if a plan's parameters differ from the entry's (`wanted`: None if the driver has no data)."""
    total = 0
    for size in map(size_of, rows):  # the native extension's layout: each parameter is aligned to its size
        total = -(-total // size) * size + size
    if total > _MAX_PARAMETER_BYTES or len(rows) > _MAX_PARAMETER_BYTES // 8:
        raise LaunchError(f"{entry}: {len(rows)} parameters take {total} bytes; the limit is {_MAX_PARAMETER_BYTES}")
    if wanted is None:
        return
    if len(rows) != len(wanted):
        raise LaunchError(f"{entry}: wrong number of parameters: the entry has {len(wanted)}, the plan {len(rows)}")
    for number, (row, (_, size)) in enumerate(zip(rows, wanted, strict=True)):
        if size_of(row) != size:
            raise LaunchError(
                f"{entry}: wrong size of parameter {number}: {size} bytes in the entry, {size_of(row)} in the plan"
            )


def _packed(entry: str, cluster: Extents, attributes: Sequence[tuple[int, bytes]]) -> bytes:
    """Return the launch attributes, including the cluster size, as an array of CUlaunchAttribute."""
    for number, value in attributes:
        if number == _CLUSTER_DIMENSION:
            raise LaunchError(f"{entry}: cluster as a launch attribute: pass cluster= instead")
        if len(value) > 64:
            raise LaunchError(f"{entry}: value of launch attribute {number} has {len(value)} bytes; the limit is 64")
    sizes = () if cluster == (1, 1, 1) else ((_CLUSTER_DIMENSION, struct.pack("=3I", *cluster)),)
    return b"".join(struct.pack("=i4x64s", number, value) for number, value in (*attributes, *sizes))


def plan_for(specialization: SpecializationLike, module: Module, multiprocessors: int | None = None) -> Plan:
    """Return the plan of a traced kernel; scalars default to the values of the trace.

    `multiprocessors` is the number of SMs of the device that launches the plan, from which the number of CTAs of a
    persistent kernel is computed. The default is the smallest number of SMs among this machine's devices.
    """
    if multiprocessors is None:
        multiprocessors = min(each.multiprocessors for each in driver.devices())
    return Plan(
        module,
        specialization.entry,
        grid=specialization.grid_on(multiprocessors),
        block=specialization.block,
        cluster=specialization.cluster,
        shared_bytes=specialization.shared_bytes,
        parameters=tuple(_parameter_for(row, specialization.entry) for row in specialization.parameters),
        attributes=specialization.attributes,
    )


def _parameter_for(row: EntryParameterLike, entry: str) -> Parameter:
    if row.kind == "scalar":
        return Scalar(row.type, row.name, row.value)
    if row.index is None:
        raise LaunchError(f"{entry}: parameter {row.name} has no tensor index")
    if row.kind == "tensor":
        return Pointer(row.index)
    if row.kind != "descriptor" or not isinstance(row.descriptor, TensorMapLike):
        what = f"{row.kind} of {type(row.descriptor).__name__}" if row.descriptor is not None else row.kind
        raise LaunchError(f"{entry}: unsupported parameter {row.name}: a {what}")
    return (Map if row.type == "b8" else MapPointer)(row.index, row.descriptor)
