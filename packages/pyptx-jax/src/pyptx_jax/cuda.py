"""Kernels on NVIDIA GPUs: machine code through the toolchain and its cache, loaded by the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.images import image_of
from pyptx_launch import Module, Plan, driver, plan_for

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization


def plan_of(special: Specialization) -> Plan:
    """Return the plan of a traced kernel, for any device of this machine.

    XLA compiles a program before it says which device will run it, so where generations are mixed, the code is that of
    the kernel's own target.
    """
    targets = {device.target for device in driver.devices()}
    image = image_of(special, targets.pop() if len(targets) == 1 else None)
    return plan_for(special, Module(image))
