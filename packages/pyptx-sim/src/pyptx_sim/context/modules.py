"""Modules that are loaded into device memory: their variables keep their values between launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.syntax.nodes import Function
from pyptx_sim.errors import LaunchError
from pyptx_sim.program.lowering import lower
from pyptx_sim.program.windows import GLOBAL_WINDOW

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.syntax.nodes import Module
    from pyptx_sim.device_memory import DeviceMemory
    from pyptx_sim.program.program import Program
    from pyptx_sim.program.scopes import Placement


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModule:
    """Linked PTX modules in a device's memory. All entries share the variables, which keep their values.

    `entries` are the names of the kernels. `start` is the offset of the `.global` variables in device memory, 0 without
    variables.
    """

    modules: tuple[Module, ...]
    target: str | None
    closest_form: bool
    entries: tuple[str, ...]
    start: int
    _memory: DeviceMemory
    _variables: Mapping[str, Placement]
    _constants: bytearray

    @classmethod
    def load(
        cls, modules: tuple[Module, ...], memory: DeviceMemory, target: str | None, *, closest_form: bool = False
    ) -> LoadedModule:
        """Place the variables of linked modules in `memory`, and initialize them. ProgramError if linking fails."""
        entries = tuple(
            node.name
            for module in modules
            for node in module.body
            if isinstance(node, Function) and node.kind == "entry"
        )
        if not entries:
            return cls(modules, target, closest_form, (), 0, memory, {}, bytearray())
        program = lower(modules, entries[0], target, closest_form=closest_form)
        start = 0
        if program.globals.placements or program.constants.placements:
            start = memory.reserve_variables(len(program.globals.data))
            program = lower(modules, entries[0], target, closest_form=closest_form, globals_start=start)
            memory.load_variables(program.globals)
        constants = bytearray(program.constants.data)
        if start:
            memory.set_constants(start, constants)
        places = (*program.globals.placements, *program.constants.placements)
        variables = {place.name: place for place in reversed(places)}
        return cls(modules, target, closest_form, entries, start, memory, variables, constants)

    def program(self, entry: str | None) -> Program:
        """Return the lowered kernel `entry`, None: the only one."""
        return lower(self.modules, entry, self.target, closest_form=self.closest_form, globals_start=self.start)

    def address(self, variable: str) -> int:
        """Return the device address of a `.global` variable, as `cuModuleGetGlobal`. LaunchError if there is none."""
        place = self._place(variable)
        if place.space != "global":
            raise LaunchError(f"{variable} is in .{place.space} memory", help="use read and write")
        return GLOBAL_WINDOW + place.offset

    def size(self, variable: str) -> int:
        """Return the size of a variable in bytes."""
        return self._place(variable).size

    def read(self, variable: str) -> bytes:
        """Return the current bytes of a `.global` or `.const` variable."""
        place = self._place(variable)
        if place.space == "global":
            return self._memory.bytes(GLOBAL_WINDOW + place.offset, place.size).tobytes()
        return bytes(self._constants[place.offset : place.offset + place.size])

    def write(self, variable: str, data: bytes, offset: int = 0) -> None:
        """Set bytes of a `.global` or `.const` variable from byte `offset` on, as `cudaMemcpyToSymbol`.

        LaunchError if the data does not fit.
        """
        place = self._place(variable)
        if not 0 <= offset <= offset + len(data) <= place.size:
            raise LaunchError(f"{len(data)} bytes at offset {offset} do not fit in {variable} ({place.size} bytes)")
        start = place.offset + offset
        if place.space != "global":
            self._constants[start : start + len(data)] = data
            return
        self._memory.write(GLOBAL_WINDOW + start, data)

    def _place(self, variable: str) -> Placement:
        place = self._variables.get(variable)
        if place is None:
            known = ", ".join(self._variables) or "none"
            raise LaunchError(f"the module has no variable {variable!r}", help=f"its variables: {known}")
        return place
