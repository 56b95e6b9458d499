"""Activation of the process's one virtual device, and of its doors to frameworks."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pyptx_ir.isa.target_rows import TARGETS, unknown_target
from pyptx_sim import Context
from pyptx_virtual.device import VirtualDevice
from pyptx_virtual.errors import ActivationError, AlreadyActive, NotActive, RealGpuPresent
from pyptx_virtual.gpus import real_gpus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.target_rows import TargetRow

DOORS: Final = {"torch": "pyptx_virtual.torch.attachment"}
"""Doors by name: the module whose function `attach` connects a framework to the device."""

MEMORY_BYTES: Final = 16 << 30  # addresses only: a page takes host memory once it is accessed


@dataclass(slots=True)
class _Process:
    """The virtual device of this process, and its attached doors by name."""

    device: VirtualDevice | None = None
    doors: dict[str, object] = field(default_factory=dict[str, object])


_process: Final = _Process()


def activate(
    target: str = "sm_90a",
    *,
    doors: Sequence[str] = ("torch",),
    memory_bytes: int = MEMORY_BYTES,
    shadow_gpu: bool = False,
) -> VirtualDevice:
    """Make the virtual GPU of this process, and attach frameworks to it.

    `target` is its architecture, `memory_bytes` the size of its memory, `doors` the frameworks whose CUDA device it
    becomes (`"torch"`). Activation lasts until the process exits. A second call with the same target and memory
    attaches further doors and returns the same device; with other options it raises AlreadyActive. On a machine with a
    GPU, RealGpuPresent is raised unless `shadow_gpu` is true.
    """
    unknown = [door for door in doors if door not in DOORS]
    if unknown:
        raise ActivationError(f"unknown door {unknown[0]!r}", help=f"use some of {', '.join(DOORS)}")
    device = _process.device
    if device is None:
        device = _process.device = _new_device(target, memory_bytes, shadow_gpu=shadow_gpu)
    elif (device.target.name, device.memory_bytes) != (target, memory_bytes):
        raise AlreadyActive(
            f"a virtual {device.target.name} with {device.memory_bytes} bytes is active, got {target} with "
            f"{memory_bytes} bytes",
            help="activate one device per process",
        )
    for door in doors:
        if door not in _process.doors:
            _process.doors[door] = import_module(DOORS[door]).attach(device)
    return device


def active() -> VirtualDevice:
    """Return the virtual device of this process; raise NotActive if there is none."""
    if _process.device is None:
        raise NotActive("no virtual device is active", help="call pyptx_virtual.activate()")
    return _process.device


def _new_device(target: str, memory_bytes: int, *, shadow_gpu: bool) -> VirtualDevice:
    row = _target(target)
    if not shadow_gpu and (count := real_gpus()):
        raise RealGpuPresent(
            f"this machine has {count} GPU{'s' * (count > 1)}",
            help="pass shadow_gpu=True to hide it from frameworks",
        )
    return VirtualDevice(Context(target=target, memory_bytes=memory_bytes), row, memory_bytes)


def _target(name: str) -> TargetRow:
    for row in TARGETS:
        if row.name == name:
            return row
    raise unknown_target(name, tuple(row.name for row in TARGETS))
