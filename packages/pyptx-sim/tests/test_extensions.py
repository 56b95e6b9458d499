"""Simulator extensions of plugins: errors name the extensions that are invalid or conflict."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import pytest

from pyptx_ir.plugins import API_VERSION, PluginError, hookimpl
from pyptx_ir.plugins import manager as managers
from pyptx_ir.plugins.caches import forget_answers
from pyptx_ir.plugins.manager import Plugins
from pyptx_ir.plugins.rows import SimulatorExtension
from pyptx_sim.extension import VERSION, Extension, InstructionSemantics, extensions, meaning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.wave import Wave


def nothing(_operands: Operands) -> Callable[[Wave, Lanes], None]:
    """Compile an instruction that has no effect."""
    return lambda _wave, _lanes: None


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """Yield an empty plugin manager that replaces the process's for one test."""
    fresh = Plugins()
    monkeypatch.setattr(managers, "manager", lambda: fresh)
    forget_answers()
    yield fresh
    monkeypatch.undo()
    forget_answers()


def bring(plugins: Plugins, loaded: object) -> None:
    """Register a plugin whose extension of the simulator is `loaded`."""
    module: Any = types.ModuleType("late")
    module.pyptx_api_version = hookimpl(lambda: API_VERSION)
    module.pyptx_simulator_extensions = hookimpl(lambda: (SimulatorExtension("late", lambda: loaded),))
    plugins.register(module, "late")


def test_a_plugin_brings_steps(plugins: Plugins) -> None:
    step = InstructionSemantics(opcode="late.frob", effect="none", compile=nothing)
    bring(plugins, Extension(version=VERSION, steps=(step,)))
    assert meaning_of(("late", "frob", "b32")) is step
    assert meaning_of(("late", "other")) is None


def test_what_is_no_extension_is_told(plugins: Plugins) -> None:
    bring(plugins, "a string")
    with pytest.raises(PluginError, match="extension 'late': expected an Extension, got str"):
        extensions()


def test_an_extension_of_another_version_is_told(plugins: Plugins) -> None:
    bring(plugins, Extension(version=VERSION + 1))
    with pytest.raises(PluginError, match=f"extension 'late': expected API version {VERSION}, got {VERSION + 1}"):
        extensions()


def test_two_extensions_that_have_one_opcode_are_both_named(plugins: Plugins) -> None:
    bring(
        plugins, Extension(version=VERSION, steps=(InstructionSemantics(opcode="ld", effect="none", compile=nothing),))
    )
    with pytest.raises(PluginError, match="extensions 'sim' and 'late' both define steps of 'ld'"):
        meaning_of(("ld", "global", "u32"))
