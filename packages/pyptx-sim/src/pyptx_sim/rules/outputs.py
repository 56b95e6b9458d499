"""`unwritten-output`: elements of a kernel's output that no thread has written.

Such elements are zero in the simulator and undefined on a GPU. Usual causes: a grid that is too small (`N // 128` for
sizes that are not a multiple of 128), or a wrong bounds check. Only arrays that the runtime allocates are checked: a
kernel may write an array that the caller passes, by `out=` or as an input, in part.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.findings import Finding
from pyptx_sim.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.machine.machine import Machine
    from pyptx_sim.observer import AccessKind, AsyncOperations, Offsets, Space
    from pyptx_sim.regions import Placed

UNWRITTEN: Final = "unwritten-output"


class OutputWrites(Observer):
    """Records the instruction that wrote last to each output of a kernel."""

    def __init__(self, outputs: Sequence[Placed]) -> None:
        """Record writes to the outputs in global memory."""
        self.outputs = tuple(outputs)
        self._places = [(item.start, item.start + item.size, item.name) for item in outputs]
        self.last: dict[str, int] = {}

    def access(
        self, space: Space, kind: AccessKind, offsets: Offsets, size: int, warps: Offsets, lanes: Offsets, pc: int
    ) -> None:
        """Record the instruction of a write, for the output at the address of the first lane."""
        del size, warps, lanes
        if space == "global" and kind in {"write", "atomic"} and len(offsets):
            self._note(int(offsets[0]), pc)

    def issued(self, work: AsyncOperations) -> None:
        """Record the instruction of asynchronous writes as the last writer of the output at the first address."""
        for touch in work.touches:
            if touch.space == "global" and touch.writes and len(touch.offsets):
                self._note(int(touch.offsets[0]), work.pc)

    def _note(self, offset: int, pc: int) -> None:
        for start, end, name in self._places:
            if start <= offset < end:
                self.last[name] = pc


def report_unwritten(machine: Machine, writes: OutputWrites) -> None:
    """Report outputs with elements that no thread has written: the number of these elements, and the first one."""
    known = machine.memories["global"].arena.defined
    written_down = [site.pc for site in machine.program.sites if site.ordinal >= 0]
    if known is None or not written_down:  # the kernel tracer has already warned about a kernel without instructions
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
        few = f"{len(missing)} of {counted(count, 'element')} of output '{output.name}'"
        message = f"{few} {'was' if len(missing) == 1 else 'were'} never written"
        pc = writes.last.get(item.name)
        notes = () if pc is not None else ("no instruction stores to this output",)
        place = written_down[-1] if pc is None else pc
        machine.log.report(
            UNWRITTEN,
            f"{message}; first: {first}",
            place,
            label=None if pc is None else "store to other elements",
            notes=(*notes, _threads(machine)),
            help=_HELP,
        )


def unwritten_without_blocks(outputs: Iterable[Output]) -> Iterator[Finding]:
    """Yield a finding for each output that has elements, in a launch without CTAs."""
    for output in outputs:
        count = math.prod(output.shape)
        if count:
            message = f"{counted(count, 'element')} of output '{output.name}' never written: the grid has no CTAs"
            yield Finding(UNWRITTEN, message, help="launch CTAs for empty inputs as well, or return before the launch")


def _first(output: Output, missing: Offsets) -> tuple[int, ...]:
    """Return the lowest index of missing elements of a dense array, given by their positions in memory order."""
    order = sorted(range(len(output.shape)), key=lambda axis: (-output.strides[axis], axis))
    indices = np.unravel_index(missing, tuple(output.shape[axis] for axis in order))
    by_axis = dict(zip(order, indices, strict=True))
    columns = [by_axis[axis] for axis in range(len(output.shape))]
    at = int(np.lexsort(columns[::-1])[0])
    return tuple(int(column[at]) for column in columns)


_HELP: Final = (
    "launch ceil(N / 128) CTAs (-(-N // 128), not N // 128) and guard the last one; or pass out= an initialized array"
)


def _threads(machine: Machine) -> str:
    launch, block = machine.launch, math.prod(machine.launch.block)
    return (
        f"this launch has {counted(launch.ctas * block, 'thread')}: {counted(launch.ctas, 'CTA')} of "
        f"{counted(block, 'thread')}"
    )
