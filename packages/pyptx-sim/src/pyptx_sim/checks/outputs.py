"""`unwritten-output`: elements of a kernel's output that no thread has written.

What a run begins with there is nobody's: zeros in the simulator, on a GPU whatever the memory held. Most often the grid
is too small (`N // 128` for a size that 128 does not divide), or a guard too narrow. Only arrays that the runtime
allocates are judged: one that the caller passes, by `out=` or as an input, may be written in part on purpose.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.findings import Finding
from pyptx_sim.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.observer import AccessKind, Offsets, Space, Work
    from pyptx_sim.regions import Placed

UNWRITTEN: Final = "unwritten-output"


class OutputWrites(Observer):
    """Remembers which instruction was the last to write to each output."""

    def __init__(self, outputs: Sequence[Placed]) -> None:
        """Watch the outputs' places in global memory."""
        self.outputs = tuple(outputs)
        self._places = [(item.start, item.start + item.size, item.name) for item in outputs]
        self.last: dict[str, int] = {}

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Note who writes; the first lane tells for all."""
        del size, warps, lanes
        if space == "global" and kind in {"write", "atomic"} and len(offsets):
            self._note(int(offsets[0]), pc)

    def issued(self, work: Work) -> None:
        """Note copies that will write."""
        for touch in work.touches:
            if touch.space == "global" and touch.writes and len(touch.offsets):
                self._note(int(touch.offsets[0]), work.pc)

    def _note(self, offset: int, pc: int) -> None:
        for start, end, name in self._places:
            if start <= offset < end:
                self.last[name] = pc


def report_unwritten(machine: Machine, writes: OutputWrites) -> None:
    """Report the outputs that have elements which nothing has written, each with their number and the first of them."""
    known = machine.memories["global"].arena.defined
    written_down = [site.pc for site in machine.program.sites if site.ordinal >= 0]
    if known is None or not written_down:  # of a kernel without instructions, whoever has traced it has warned
        return
    for item in writes.outputs:
        output = item.output
        count = 0 if output is None else math.prod(output.shape)
        if output is None or not count:
            continue
        written = known[item.start : item.start + item.size]
        if written.all():
            continue
        missing = np.flatnonzero(~written.reshape(count, -1).all(axis=1))
        first = f"{output.name}[{', '.join(map(str, _first(output, missing)))}]"
        message = f"no thread has written {len(missing)} of the {count} elements of output '{output.name}'"
        pc = writes.last.get(item.name)
        stores = "" if pc is not None else "; no instruction stores there"
        place = written_down[-1] if pc is None else pc
        machine.log.report(UNWRITTEN, f"{message}: the first is {first}{stores}", place, help=_help(machine))


def unwritten_without_blocks(outputs: Iterable[Output]) -> Iterator[Finding]:
    """Yield a finding for each output with elements of a launch without CTAs."""
    for output in outputs:
        count = math.prod(output.shape)
        if count:
            message = f"no thread has written the {count} elements of output '{output.name}': the grid has no CTAs"
            yield Finding(UNWRITTEN, message, help="launch CTAs for empty inputs as well, or return before the call")


def _first(output: Output, missing: Offsets) -> tuple[int, ...]:
    """Return the least index among elements, in order of memory, of a dense array."""
    order = sorted(range(len(output.shape)), key=lambda axis: (-output.strides[axis], axis))
    indices = np.unravel_index(missing, tuple(output.shape[axis] for axis in order))
    by_axis = dict(zip(order, indices, strict=True))
    columns = [by_axis[axis] for axis in range(len(output.shape))]
    at = int(np.lexsort(columns[::-1])[0])
    return tuple(int(column[at]) for column in columns)


def _help(machine: Machine) -> str:
    launch = machine.launch
    block = math.prod(launch.block)
    return (
        f"this launch has {launch.ctas * block} threads, {launch.ctas} blocks of {block}: let the grid cover every "
        "element, -(-N // 128) blocks rather than N // 128, and guard the last one; or pass out= an array that holds "
        "what the kernel leaves"
    )
