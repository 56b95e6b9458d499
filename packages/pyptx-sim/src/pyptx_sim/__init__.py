"""Run PTX on a CPU, and find its races, deadlocks and stray accesses.

The names are imported when they are first used: the plugin of this package is loaded wherever kernels are, and must not
bring NumPy along.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_sim.arguments import Uninitialised
    from pyptx_sim.findings import Finding
    from pyptx_sim.result import Result, Statistics
    from pyptx_sim.runtime import SimulationResult
    from pyptx_sim.simulator import run
else:

    def __getattr__(name: str) -> object:
        """Import a public name from the module that defines it."""
        from importlib import import_module

        homes = {"Uninitialised": "arguments", "Finding": "findings", "run": "simulator", "SimulationResult": "runtime"}
        if name not in __all__:
            raise AttributeError(f"module 'pyptx_sim' has no attribute {name!r}")
        return getattr(import_module(f"pyptx_sim.{homes.get(name, 'result')}"), name)

    def __dir__() -> list[str]:
        """Return the public names."""
        return sorted(__all__)


__all__ = ["Finding", "Result", "SimulationResult", "Statistics", "Uninitialised", "run"]
