"""Plans: launches made ready, so that a call patches addresses and scalars and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pyptx_launch import _shim
from pyptx_launch.errors import LaunchError
from pyptx_launch.parameters import Map, MapPointer, Parameter, Pointer, Scalar, row_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_launch.modules import Module
    from pyptx_launch.tensor_maps import TensorMapLike

Extents = tuple[int, int, int]


class EntryParameterLike(Protocol):
    """A parameter of an entry, shaped like `pyptx_ir.plugins.rows.EntryParameter`."""

    @property
    def name(self) -> str:
        """Its name in PTX."""
        ...

    @property
    def kind(self) -> str:
        """`tensor`, `scalar` or `tensor_map`."""
        ...

    @property
    def type(self) -> str:
        """Its PTX type; of a tensor map, `b8` where it is passed by value."""
        ...

    @property
    def index(self) -> int | None:
        """The tensor that it is of; inputs count first, then outputs."""
        ...

    @property
    def value(self) -> int | float | None:
        """The value of a scalar."""
        ...

    @property
    def tensor_map(self) -> TensorMapLike | None:
        """How a tensor map reads its tensor."""
        ...


class SpecializationLike(Protocol):
    """A traced kernel, shaped like `pyptx_ir.plugins.rows.Specialization`."""

    @property
    def entry(self) -> str:
        """The name of the entry."""
        ...

    @property
    def grid(self) -> Extents:
        """Blocks."""
        ...

    @property
    def block(self) -> Extents:
        """Threads of a block."""
        ...

    @property
    def cluster(self) -> Extents:
        """Blocks of a cluster."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory."""
        ...

    @property
    def parameters(self) -> Sequence[EntryParameterLike]:
        """The parameters of the entry, in order."""
        ...

    @property
    def attributes(self) -> Sequence[tuple[int, bytes]]:
        """Launch attributes: number and value."""
        ...


class Plan(_shim.Plan):
    """Make a launch of `entry` ready: its shape, its parameters, its launch attributes.

    `grid` counts blocks (not clusters), and the cluster must divide it. `attributes` are CUlaunchAttribute numbers with
    the bytes of their values. Raises LaunchError where a number is impossible or the rows are not the entry's
    parameters, TensorMapError where a tensor map breaks a rule. What depends on a device (its shared memory, its
    clusters) is checked at the first launch there.

    A plan is immutable: any number of threads may launch it, on any devices and streams. Tensor maps that a kernel
    takes by pointer lie in device memory until the plan dies; so keep a plan for as long as a CUDA graph holds one of
    its launches.
    """

    __slots__ = ()

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
        for name, extents in (("grid", grid), ("block", block), ("cluster", cluster)):
            _check_extents(entry, name, extents)
        if not 0 <= shared_bytes < 2**31:
            raise LaunchError(f"{entry}: shared_bytes cannot be {shared_bytes}")
        rows = [row_of(parameter) for parameter in parameters]
        super().__init__(module, entry, grid, block, cluster, shared_bytes, rows, list(attributes))


def _check_extents(entry: str, name: str, extents: tuple[int, ...]) -> None:
    if len(extents) != 3 or not all(0 <= extent < 2**32 for extent in extents):
        raise LaunchError(f"{entry}: {name} must be three extents of 32 bits, not {extents}")


def plan_for(specialization: SpecializationLike, module: Module) -> Plan:
    """Return the plan of a traced kernel; its scalars keep the values of the trace where a launch gives none."""
    return Plan(
        module,
        specialization.entry,
        grid=specialization.grid,
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
        raise LaunchError(f"{entry}: parameter {row.name} does not say which tensor it is of")
    if row.kind == "tensor":
        return Pointer(row.index)
    if row.kind != "tensor_map" or row.tensor_map is None:
        raise LaunchError(f"{entry}: parameter {row.name} of kind {row.kind!r} cannot be passed")
    return (Map if row.type == "b8" else MapPointer)(row.index, row.tensor_map)
