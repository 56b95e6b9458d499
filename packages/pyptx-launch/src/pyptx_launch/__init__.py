"""Launch CUDA kernels: modules, plans, launchers, tensor maps. Opens the driver at first use; needs no toolkit."""

from pyptx_launch import driver
from pyptx_launch.errors import CompileError, DriverError, DriverMissingError, LaunchError, TensorMapError
from pyptx_launch.launchers import Launcher, Signature
from pyptx_launch.modules import Attributes, Module
from pyptx_launch.parameters import Map, MapPointer, Pointer, Scalar
from pyptx_launch.plans import Plan, plan_for
from pyptx_launch.tensor_map_rules import Im2col
from pyptx_launch.tensor_maps import TensorMap

__tracebackhide__ = True

__all__ = [
    "Attributes",
    "CompileError",
    "DriverError",
    "DriverMissingError",
    "Im2col",
    "LaunchError",
    "Launcher",
    "Map",
    "MapPointer",
    "Module",
    "Plan",
    "Pointer",
    "Scalar",
    "Signature",
    "TensorMap",
    "TensorMapError",
    "driver",
    "plan_for",
]
