"""Functions of the CUDA device runtime, defined in no module: `vprintf`, `__assertfail`, `malloc`, `free`.

Programming guide: "Formatted Output", "Assertion", "Dynamic Global Memory Allocation".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from pyptx_ir.isa.modules.counting import counted
from pyptx_sim.errors import KernelTrap, SimulationError
from pyptx_sim.machine.lanes import WARP, Lanes, pick, spread
from pyptx_sim.operation import Array
from pyptx_sim.program.windows import GLOBAL_WINDOW, WINDOWS, space_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_sim.machine.wave import Wave

# Built-in function: takes the `Wave` (all resident warps), the calling lanes and one array per argument; returns an
# array with one result per lane.
Builtin: TypeAlias = Callable[..., Array]

# %[flags][width][.precision][length]conversion; CUDA does not support `*`.
_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?P<precision>\.\d*)?(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>.)"
)
_WIDE = frozenset({"l", "ll", "j", "z", "t"})
_LONGEST_STRING = 1 << 16


class _Thread:
    """Memory as one thread reads it through generic addresses."""

    def __init__(self, wave: Wave, warp: int, lane: int) -> None:
        self._wave = wave
        self._warp = np.array([warp])
        self._lane = np.array([lane])

    def bytes_at(self, address: int, size: int) -> bytes:
        """Return `size` bytes at a generic address; raise SimulationError if any byte is invalid."""
        space = space_of(address)
        memory = self._wave.memories.get(space or "")
        relative = np.array([address - WINDOWS[space]]) if space else np.array([-1])
        if memory is None or memory.outside(relative, size).any():
            raise SimulationError(
                f"invalid read of {counted(size, 'byte')} at {address:#x} by a built-in function",
                where=self._wave.machine.where(self._wave.pc),
            )
        start = int(memory.flat_at(relative, self._warp, self._lane)[0])
        return memory.arena.data[start : start + size].tobytes()

    def string_at(self, address: int) -> str:
        """Return the C string at a generic address."""
        collected = bytearray()
        while len(collected) < _LONGEST_STRING:
            byte = self.bytes_at(address + len(collected), 1)
            if byte == b"\0":
                break
            collected += byte
        return collected.decode("utf-8", "replace")


def _threads(wave: Wave, lanes: Lanes) -> Iterator[tuple[int, int, _Thread]]:
    positions, columns = lanes.active
    for warp, lane in zip(lanes.warps(positions).tolist(), columns.tolist(), strict=True):
        yield warp, lane, _Thread(wave, warp, lane)


def format_c(text: str, thread: _Thread, buffer: int) -> str:
    """Return the printf format `text`, filled with arguments from the thread's `buffer`, each aligned to its size."""
    offset = 0

    def fill(match: re.Match[str]) -> str:
        nonlocal offset
        kind = match["kind"]
        if kind == "%":
            return "%"
        size = 8 if kind in "sp" or kind in "aAeEfFgG" or match["length"] in _WIDE else 4
        offset = -(-offset // size) * size
        raw = thread.bytes_at(buffer + offset, size)
        offset += size
        return _format_one(match, kind, raw, thread)

    return _DIRECTIVE.sub(fill, text)


def _format_one(match: re.Match[str], kind: str, raw: bytes, thread: _Thread) -> str:
    spec = f"%{match['flags']}{match['width']}{match['precision'] or ''}"
    if kind in "aAeEfFgG":
        value = struct.unpack("<d", raw)[0]
        return float(value).hex() if kind in "aA" else str((spec + kind) % value)
    number = int.from_bytes(raw, "little", signed=kind in "di")
    if kind == "s":
        return str((spec + "s") % (thread.string_at(number) if number else "(null)"))
    if kind == "p":
        return str(f"%{match['flags']}{match['width']}s" % hex(number))
    if kind == "c":
        return str((spec + "c") % chr(number & 0xFF))
    narrow = {"h": 16, "hh": 8}.get(match["length"] or "")
    if narrow is not None:
        number &= (1 << narrow) - 1
        number -= (1 << narrow) * (kind in "di" and number >> (narrow - 1))
    return str((spec + ("d" if kind == "u" else kind)) % number)


def _vprintf(wave: Wave, lanes: Lanes, text: Array, buffer: Array) -> Array:
    """Append each lane's formatted text, in lane order, to the kernel's output; return each lane's argument count."""
    positions, columns = lanes.active
    texts, buffers = pick(text, positions, columns), pick(buffer, positions, columns)
    counts: list[int] = []
    for (_, _, thread), where, arguments in zip(_threads(wave, lanes), texts.tolist(), buffers.tolist(), strict=True):
        template = thread.string_at(where)
        wave.machine.printed.append(format_c(template, thread, arguments))
        counts.append(sum(match["kind"] != "%" for match in _DIRECTIVE.finditer(template)))
    return spread(np.array(counts, np.uint32), positions, columns, lanes.height)


def _assert_fail(
    wave: Wave, lanes: Lanes, message: Array, file: Array, line: Array, function: Array, _: Array
) -> Array:
    """Raise a KernelTrap error with the message of the failed device assertion."""
    warp, lane, thread = next(_threads(wave, lanes))
    positions, columns = lanes.active
    parts = [thread.string_at(int(pick(part, positions, columns)[0])) for part in (message, file, function)]
    number = int(pick(line, positions, columns)[0])
    raise KernelTrap(
        f"{parts[1]}:{number}: {parts[2]}: {wave.geometry.thread_name(warp, lane)}: Assertion `{parts[0]}` failed.",
        where=wave.machine.where(wave.pc),
    )


def _malloc(wave: Wave, lanes: Lanes, size: Array) -> Array:
    """Allocate memory from the device heap for each lane; return a null pointer if the heap is exhausted."""
    positions, columns = lanes.active
    sizes = pick(size, positions, columns)
    starts = [wave.machine.heap.allocate(int(count)) for count in sizes.tolist()]
    addresses = np.array([GLOBAL_WINDOW + start if start else 0 for start in starts], np.uint64)
    return spread(addresses, positions, columns, lanes.height)


def _free(wave: Wave, lanes: Lanes, pointer: Array) -> Array:
    """Free the heap memory at each lane's pointer, unless the pointer is null."""
    positions, columns = lanes.active
    for address in pick(pointer, positions, columns).tolist():
        if address and not wave.machine.heap.release(int(address) - GLOBAL_WINDOW):
            raise SimulationError(
                f"invalid free of {int(address):#x}: not allocated by malloc, or freed before",
                where=wave.machine.where(wave.pc),
            )
    return np.zeros((1, WARP), np.uint64)


BUILTINS: Final[dict[str, Builtin]] = {
    "vprintf": _vprintf,
    "__assertfail": _assert_fail,
    "malloc": _malloc,
    "free": _free,
}
