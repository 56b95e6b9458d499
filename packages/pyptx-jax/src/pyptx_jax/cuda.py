"""Kernels on NVIDIA GPUs: machine code through the toolchain and its cache, loaded by the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.images import image_of
from pyptx_launch import Module, Plan, plan_for

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization


def plan_of(special: Specialization) -> Plan:
    """Return the plan of a traced kernel."""
    return plan_for(special, Module(image_of(special)))
