"""Loaded code, and what the driver says of its entries."""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_launch import _shim

# CUfunction_attribute, in the order of the fields of Attributes.
_ATTRIBUTES = (0, 1, 2, 3, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class Attributes:
    """What an entry uses on a device: bytes, registers of a thread, and threads of the largest block.

    `ptx` and `binary` are versions of the instruction sets: ten times major plus minor.
    """

    max_threads: int
    shared: int
    constant: int
    local: int
    registers: int
    ptx: int
    binary: int


class Module(_shim.Module):
    """Load a cubin, a fatbin, or PTX text, which the driver compiles (`CompileError` carries what it complains of).

    A module belongs to no device: its code is loaded where a plan first runs it. It lives as long as its plans.
    """

    __slots__ = ()

    def attributes(self, entry: str, device: int = 0) -> Attributes:
        """Return what `entry` uses on `device`; loads it there."""
        return Attributes(*(self.attribute(entry, number, device) for number in _ATTRIBUTES))
