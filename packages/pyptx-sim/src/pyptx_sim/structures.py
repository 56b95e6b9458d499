"""Python values laid out as C structures, with the alignment and padding of C.

Each member is at a multiple of its alignment; the size is a multiple of the largest alignment.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pyptx_sim.errors import LaunchError
from pyptx_sim.program.layout import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class StructureMember:
    """Member of a structure: the bytes, the alignment in bytes, and a description for messages."""

    data: bytes
    alignment: int
    what: str


def structure(members: Sequence[StructureMember]) -> StructureMember:
    """Return the structure that consists of `members`, padded as in C."""
    data, said = bytearray(), list[str]()
    for member in members:
        data = data.ljust(aligned(len(data), member.alignment), b"\0")
        said.append(f"{len(data)}: {member.what}")
        data += member.data
    alignment = max((member.alignment for member in members), default=1)
    whole = data.ljust(aligned(len(data), alignment), b"\0")
    return StructureMember(bytes(whole), alignment, f"{{{', '.join(said)}}}")


def raw_member(value: object) -> StructureMember | None:
    """Return a value that has a memory layout (ctypes or NumPy structure, bytes) as a member; None for others."""
    record: Any = value
    if isinstance(value, np.void) or (isinstance(value, np.ndarray) and not record.ndim and record.dtype.names):
        return StructureMember(record.tobytes(), record.dtype.alignment, str(record.dtype))
    if isinstance(value, ctypes.Structure | ctypes.Union | ctypes.Array):
        return StructureMember(memoryview(record).tobytes(), ctypes.alignment(record), type(record).__name__)
    if isinstance(value, bytes | bytearray | memoryview):
        data = memoryview(cast("bytes", value)).tobytes()
        return StructureMember(data, 1, f"{len(data)} bytes")
    return None


def scalar_member(value: object, what: str) -> StructureMember:
    """Return a NumPy scalar as a member; LaunchError for a Python number (unknown size) and for other values."""
    if isinstance(value, np.generic):
        number = cast("np.number[Any]", value)
        return StructureMember(number.tobytes(), number.dtype.alignment, number.dtype.name)
    if isinstance(value, int | float):
        sizes = "np.int32({0}) or np.int64({0})" if isinstance(value, int) else "np.float32({0}) or np.float64({0})"
        raise LaunchError(
            f"{what}: the Python number {value!r} has no size in a structure",
            help=f"pass {sizes.format(value)}, as in the declaration of the structure",
        )
    raise LaunchError(
        f"{what}: unsupported type {type(value).__name__}",
        help="pass an array, a NumPy scalar, bytes, or a structure (tuple, dict, ctypes)",
    )
