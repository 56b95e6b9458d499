"""Hopper plugin of pyptx: instruction table, `ptx` functions, simulator semantics, and `TensorMap`."""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_arch_hopper.sim.tensor_map import TensorMap
else:
    __getattr__, __dir__ = late_names(__name__, {"TensorMap": "sim.tensor_map"})

__tracebackhide__ = True

__all__ = ["TensorMap"]
