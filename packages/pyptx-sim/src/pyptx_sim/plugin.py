"""Plugin of pyptx-sim: semantics of PTX outside the pyptx-arch packages; runtime for NumPy arrays and CPU tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.explanation_rows import Explanation
    from pyptx_ir.plugins.rows import Command, Diagnosis, DoctorCheck, Runtime, SimulatorExtension
    from pyptx_ir.plugins.semantics import Semantics


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin implements."""
    return API_VERSION


@hookimpl
def pyptx_semantics() -> Sequence[Semantics]:
    """Return the semantics of arithmetic, conversion, warp, video, MMA instructions outside the pyptx-arch packages."""
    from pyptx_sim.semantics import ROWS

    return ROWS


@hookimpl
def pyptx_simulator_extensions() -> Sequence[SimulatorExtension]:
    """Return the extension for PTX outside the pyptx-arch packages: memory, control flow, barriers, copies, rules."""
    from pyptx_ir.plugins.rows import SimulatorExtension

    def load() -> object:
        from pyptx_sim.builtin import EXTENSION

        return EXTENSION

    return (SimulatorExtension("sim", load),)


@hookimpl
def pyptx_runtimes() -> Sequence[Runtime]:
    """Return the runtime for NumPy arrays and CPU tensors; it has the lowest priority."""
    from pyptx_sim.runtime import RUNTIME

    return (RUNTIME,)


@hookimpl
def pyptx_commands() -> Sequence[Command]:
    """Return the commands that launch PTX on the simulator."""
    from pyptx_ir.plugins.commands import command

    return (
        command("sim", "run a kernel on the simulator and print the findings", "pyptx_sim.command:run"),
        command("trace", "run a kernel on the simulator and write a timeline", "pyptx_sim.command:trace"),
    )


@hookimpl
def pyptx_explanations() -> Sequence[Explanation]:
    """Return the explanations of all rules of the simulator and its extensions."""
    from pyptx_ir.plugins.explanation_rows import Explanation
    from pyptx_sim.extension.registry import rules

    return tuple(
        Explanation(rule.name, "simulator", rule.severity, rule.summary, rule.help or "", rule.page)
        for rule in rules().values()
    )


@hookimpl
def pyptx_doctor_checks() -> Sequence[DoctorCheck]:
    """Return the simulator's check for `pyptx doctor`."""
    from pyptx_ir.plugins.rows import DoctorCheck

    return (DoctorCheck("simulator", _check),)


def _check() -> Sequence[Diagnosis]:
    import numpy as np

    from pyptx_ir.plugins.rows import Diagnosis

    return (Diagnosis("simulator", "ok", f"on NumPy {np.__version__}: runs NumPy arrays and CPU tensors"),)
