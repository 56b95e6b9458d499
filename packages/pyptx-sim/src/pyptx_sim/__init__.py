"""Run PTX on a CPU, and find its races, deadlocks and stray accesses.

The names are imported when they are first used: the plugin of this package is loaded wherever kernels are, and must not
bring NumPy along.
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_sim.arguments import Mapped, Uninitialised
    from pyptx_sim.findings import Finding
    from pyptx_sim.launch import Launch
    from pyptx_sim.result import Result, Statistics
    from pyptx_sim.runtime import SimulationResult
    from pyptx_sim.simulator import run
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "Finding": "findings",
            "Launch": "launch",
            "Mapped": "arguments",
            "Result": "result",
            "SimulationResult": "runtime",
            "Statistics": "result",
            "Uninitialised": "arguments",
            "run": "simulator",
        },
    )

__tracebackhide__ = True

__all__ = ["Finding", "Launch", "Mapped", "Result", "SimulationResult", "Statistics", "Uninitialised", "run"]
