"""Launch plans of the PTX entries in kernels.py, for device 0."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pyptx_launch import Map, MapPointer, Module, Plan, Pointer, Scalar, TensorMap

from .driver import device
from .kernels import Entry, scale, tile

if TYPE_CHECKING:
    from pyptx_launch.parameters import Parameter

THREADS = 128


@cache
def module_of(entry: Entry) -> Module:
    """Return the loaded module of a PTX entry, compiled by the driver."""
    return Module(entry.ptx(device().target).encode())


def plan_of(
    entry: Entry,
    *parameters: Parameter,
    blocks: int = 1,
    threads: int = 1,
    cluster: int = 1,
    shared_bytes: int = 0,
    attributes: tuple[tuple[int, bytes], ...] = (),
) -> Plan:
    """Return a launch plan with `blocks` CTAs of `threads` threads."""
    return Plan(
        module_of(entry),
        entry.name,
        grid=(blocks, 1, 1),
        block=(threads, 1, 1),
        cluster=(cluster, 1, 1),
        shared_bytes=shared_bytes,
        parameters=parameters,
        attributes=attributes,
    )


def scale_plan(count: int, kind: str = "f32") -> Plan:
    """Return the plan for y[i] = x[i] * factor, for `count` elements."""
    parameters = (Pointer(0), Pointer(1), Scalar(kind, "factor", 2.0), Scalar("u32", "n", count))
    return plan_of(scale(kind), *parameters, blocks=-(-count // THREADS), threads=THREADS)


def tile_plan(map_: TensorMap, slot: str = "value") -> Plan:
    """Return the plan that copies a matrix by TMA, box by box, in the layout of shared memory."""
    (rows, columns), (height, width) = map_.shape, map_.box
    size = map_.strides[-1] * height * width
    kind = Map if slot == "value" else MapPointer
    scalars = (Scalar("u32", "width", width), Scalar("u32", "height", height), Scalar("u32", "bytes", size))
    entry = tile(slot)
    return Plan(
        module_of(entry),
        entry.name,
        grid=(-(-columns // width), -(-rows // height), 1),
        block=(THREADS, 1, 1),
        parameters=(kind(0, map_), Pointer(1), *scalars),
    )
