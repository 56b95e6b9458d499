"""Run PTX on a CPU, and find data races, deadlocks and memory errors.

Public names are imported at first use: the package's plugin is loaded for every kernel and must not import NumPy.
A name that is not in this package is looked up among the plugins' descriptor classes, such as TMA tensor maps.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_sim import readers
    from pyptx_sim.context import Context
    from pyptx_sim.exploration import Exploration, Schedule, explore
    from pyptx_sim.findings import Finding
    from pyptx_sim.launch import Launch
    from pyptx_sim.memory import DeviceArray, Memory
    from pyptx_sim.numerics.sampling import Sampler
    from pyptx_sim.result import Result, Statistics
    from pyptx_sim.runtime import SimulationResult
    from pyptx_sim.simulator import run
    from pyptx_sim.textures import Surface, Texture
    from pyptx_sim.values import Uninitialized, WithDescriptor
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "Context": "context",
            "DeviceArray": "memory",
            "Exploration": "exploration",
            "Finding": "findings",
            "Launch": "launch",
            "WithDescriptor": "values",
            "Memory": "memory",
            "Result": "result",
            "Sampler": "numerics.sampling",
            "Schedule": "exploration",
            "SimulationResult": "runtime",
            "Statistics": "result",
            "Surface": "textures",
            "Texture": "textures",
            "Uninitialized": "values",
            "explore": "exploration",
            "readers": "readers",
            "run": "simulator",
        },
        others="extension",
    )

__tracebackhide__ = True

__all__ = [
    "Context",
    "DeviceArray",
    "Exploration",
    "Finding",
    "Launch",
    "Memory",
    "Result",
    "Sampler",
    "Schedule",
    "SimulationResult",
    "Statistics",
    "Surface",
    "Texture",
    "Uninitialized",
    "WithDescriptor",
    "explore",
    "readers",
    "run",
]
