"""Program that passes the bundle `typed` arrays of all element types for each parameter, and prints the results.

Argument: the library. It prints a line for each parameter, with the result for each element type of pyptx.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

from pyptx_ir.element_types import BY_NAME, ELEMENT_TYPES


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


SHAPE = (ctypes.c_int64 * 1)(8)
DECLARED = [*(row.dlpack for row in BY_NAME.values()), BY_NAME["f32"].dlpack]


def result_of(types: list[tuple[int, int, int]]) -> int:
    """Launch with arrays of these DLPack types; return the result."""
    device = (ctypes.c_int32 * 2)(2, 0)
    tensors = [
        DLTensor(0x10000 * (number + 1), device, 1, *dtype, SHAPE, None, 0) for number, dtype in enumerate(types)
    ]
    pointers = (ctypes.POINTER(DLTensor) * len(tensors))(*map(ctypes.pointer, tensors))
    return int(library.typed_launch_tensors(ctypes.byref(pointers), None))


library: Any = ctypes.CDLL(sys.argv[1])
assert library.typed_load() == 0
rows = [
    [result_of([*DECLARED[:place], row.dlpack, *DECLARED[place + 1 :]]) for row in ELEMENT_TYPES]
    for place in range(len(DECLARED))
]
sys.stdout.write(f"rows {json.dumps(rows)}\n")
