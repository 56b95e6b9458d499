"""Resource usage of kernels, parsed from `ptxas -v`; nvJitLink's output has a longer prefix in one line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENTRY = re.compile(r"^ptxas info *: Compiling entry function '(?P<name>[^']*)' for '(?P<target>[^']*)'")
_PROPERTIES = re.compile(r"^ptxas info *: Function properties for (?P<name>\S+)")
_STACK = re.compile(
    r"^(?:ptxas +\.)? +(?P<stack>\d+) bytes stack frame, "
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"^ptxas info *: Used (?P<registers>\d+) registers(?P<rest>.*)$")
_AMOUNT = re.compile(r"(\d+) bytes (smem|lmem|cumulative stack size|cmem\[\d+\])")
_COUNT = re.compile(r"(?:used )?(\d+) (barriers|textures|surfaces|samplers)")


@dataclass(frozen=True, slots=True)
class Resources:
    """Resource usage of one entry. Registers are per thread; sizes are in bytes.

    `stack` is the entry's own frame, `spill_stores` and `spill_loads` the traffic of spilled registers. `shared` is
    shared memory (ptxas reports the static part, `Kernel.resources` adds the dynamic part). `constant` has pairs of
    constant bank and bytes. `local` is local memory per thread.
    """

    entry: str
    target: str
    registers: int = 0
    barriers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    local: int = 0
    cumulative_stack: int = 0
    constant: tuple[tuple[int, int], ...] = ()
    textures: int = 0
    surfaces: int = 0
    samplers: int = 0

    @property
    def spills(self) -> int:
        """Return the sum of the bytes of spill loads and spill stores."""
        return self.spill_stores + self.spill_loads

    def _repr_html_(self) -> str:
        """Return a table of the figures and the target's limits for notebooks."""
        from pyptx_ir.drawing import notebook
        from pyptx_ir.toolchain.resource_table import resource_table

        return notebook(resource_table(self))


def parse_resources(log: str) -> Mapping[str, Resources]:
    """Return the resource usage of every entry in the output of `ptxas -v`, by name."""
    found: dict[str, Resources] = {}
    entry = properties = ""
    for line in log.splitlines():
        if match := _ENTRY.match(line):
            entry = match["name"]
            found[entry] = Resources(entry, match["target"])
        elif match := _PROPERTIES.match(line):
            properties = match["name"]
        elif (match := _STACK.match(line)) and properties in found:
            found[properties] = replace(
                found[properties],
                stack=int(match["stack"]),
                spill_stores=int(match["stores"]),
                spill_loads=int(match["loads"]),
            )
        elif (match := _USED.match(line)) and entry in found:
            found[entry] = _used(found[entry], int(match["registers"]), match["rest"])
    return found


def _used(resources: Resources, registers: int, rest: str) -> Resources:
    sizes = {name: int(size) for size, name in _AMOUNT.findall(rest)}
    counts = {name: int(count) for count, name in _COUNT.findall(rest)}
    banks = {int(name[5:-1]): size for name, size in sizes.items() if name.startswith("cmem")}
    return replace(
        resources,
        registers=registers,
        barriers=counts.get("barriers", 0),
        textures=counts.get("textures", 0),
        surfaces=counts.get("surfaces", 0),
        samplers=counts.get("samplers", 0),
        shared=sizes.get("smem", 0),
        local=sizes.get("lmem", 0),
        cumulative_stack=sizes.get("cumulative stack size", 0),
        constant=tuple(sorted(banks.items())),
    )
