"""Kernels on NVIDIA GPUs: machine code from the toolchain and its cache, loaded by the driver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import KeywordError
from pyptx_dsl.kernels.images import image_of
from pyptx_dsl.once import OncePerKey
from pyptx_launch import Module, Plan, driver, plan_for

if TYPE_CHECKING:
    from pyptx_jax.records import Origin


def plan_of(origin: Origin) -> Plan:
    """Return the launch plan of a traced kernel for any GPU of this machine; raise KeywordError for traced scalars.

    XLA compiles a program before the device is known. On a machine with several generations of GPUs, the code is
    compiled for the kernel's declared target. If the GPUs differ in their number of SMs, the grid of a persistent
    kernel is sized for the GPU with the fewest SMs.
    """
    special = origin.special
    if origin.operands:
        names = ", ".join(each.name for each in origin.operands)
        raise KeywordError(
            f"{special.entry}: {names} cannot be traced on a GPU: a launch takes numbers by value when it is "
            "enqueued, and a traced number is in device memory",
            help="pass a Python number (static_argnames), or declare Tile(1, f32) and load the number in the kernel",
        )
    targets = {device.target for device in driver.devices()}
    device = targets.pop() if len(targets) == 1 else None
    code = _Code(special.text, special.image, special.target, device)
    return plan_for(special, MODULES.get(code, lambda: Module(image_of(special, device))))


@dataclass(frozen=True, slots=True)
class _Code:
    """Key of loaded machine code: PTX text, image, target and device."""

    text: str
    image: bytes | None
    target: str
    device: str | None


MODULES: Final = OncePerKey[_Code, Module]()
"""Loaded modules of this process, by key; XLA compiles programs on several threads."""
