"""Activation of the process's one virtual device, and of its doors to frameworks."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypedDict

from pyptx_ir.isa.modules.counting import counted
from pyptx_ir.isa.target_rows import TARGETS, unknown_target
from pyptx_sim import Context
from pyptx_virtual.device import VirtualDevice
from pyptx_virtual.errors import ActivationError, AlreadyActive, NotActive, RealGpuPresent
from pyptx_virtual.gpus import real_gpus
from pyptx_virtual.imports import when_imported

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Unpack

    from pyptx_ir.isa.target_rows import TargetRow
    from pyptx_sim.exploration import Schedule

DOORS: Final = {"torch": "pyptx_virtual.torch.attachment", "triton": "pyptx_virtual.triton.attachment"}
"""Doors by name: the module whose function `attach` connects a framework to the device."""

TARGET: Final = "sm_90a"
MEMORY_BYTES: Final = 16 << 30  # addresses only: a page takes host memory once it is accessed


class Checking(TypedDict, total=False):
    """Options of a device's launches, which are those of `pyptx_sim.Context`."""

    checks: str | Iterable[str]
    schedules: Sequence[Schedule] | None
    step_limit: int | None
    numerics: str


@dataclass(slots=True)
class _Process:
    """The virtual device of this process, and its attached doors by name."""

    device: VirtualDevice | None = None
    doors: dict[str, object] = field(default_factory=dict[str, object])


_process: Final = _Process()


def activate(
    target: str | None = None,
    *,
    doors: Sequence[str] | None = None,
    memory_bytes: int | None = None,
    shadow_gpu: bool = False,
    **options: Unpack[Checking],
) -> VirtualDevice:
    """Make the virtual GPU of this process, and attach frameworks to it.

    `target` is its architecture (default: `sm_90a`), `memory_bytes` the size of its memory (default: 16 GiB), `doors`
    the frameworks whose CUDA device it becomes (`"torch"`, `"triton"`); by default, each of them when the program
    imports it. `options` are those of `pyptx_sim.Context` for its launches. Activation lasts until the process exits.
    A second call attaches further doors and returns the same device; with another target or size, it raises
    AlreadyActive. On a machine with a GPU, RealGpuPresent is raised unless `shadow_gpu` is true.
    """
    unknown = [door for door in doors or () if door not in DOORS]
    if unknown:
        raise ActivationError(f"unknown door {unknown[0]!r}", help=f"use some of {', '.join(DOORS)}")
    device = _process.device
    if device is None:
        size = MEMORY_BYTES if memory_bytes is None else memory_bytes
        device = _process.device = _new_device(target or TARGET, size, shadow_gpu=shadow_gpu, **options)
    elif target not in {None, device.target.name} or memory_bytes not in {None, device.memory_bytes}:
        raise AlreadyActive(
            f"a virtual {device.target.name} with {device.memory_bytes} bytes of memory is active",
            help="activate one device per process",
        )
    if doors is None:
        when_imported([door for door in DOORS if door not in _process.doors], attach)
    for door in doors or ():
        attach(door)
    return device


def attach(door: str) -> None:
    """Attach a framework to the active device, unless it is attached already."""
    if door not in _process.doors:
        _process.doors[door] = import_module(DOORS[door]).attach(active())


def is_active() -> bool:
    """Return whether this process has a virtual device."""
    return _process.device is not None


def active() -> VirtualDevice:
    """Return the virtual device of this process; raise NotActive if there is none."""
    if _process.device is None:
        raise NotActive("no virtual device is active", help="call pyptx_virtual.activate()")
    return _process.device


def _new_device(target: str, memory_bytes: int, *, shadow_gpu: bool, **options: Unpack[Checking]) -> VirtualDevice:
    row = _target(target)
    count = 0 if shadow_gpu else real_gpus()
    if count:
        raise RealGpuPresent(
            f"this machine has {counted(count, 'GPU')}", help="pass shadow_gpu=True to hide it from frameworks"
        )
    return VirtualDevice(Context(target=target, memory_bytes=memory_bytes, **options), row, memory_bytes)


def _target(name: str) -> TargetRow:
    for row in TARGETS:
        if row.name == name:
            return row
    raise unknown_target(name, tuple(row.name for row in TARGETS))
