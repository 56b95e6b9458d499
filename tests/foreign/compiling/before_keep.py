"""CuTe DSL 4.2, which cannot keep PTX: its compiler emits PTX in place of machine code.

The launch is read from the lowered host function. Arrays are replaced by NumPy arrays, so that extents and strides are
constants and only the address of a tensor is passed.
"""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from cases import Array
from modules import Compiled, Parameters

if TYPE_CHECKING:
    from cases import Case

_CUDA = 2  # kDLCUDA: DLPack's device type of a CUDA GPU
_CONSTANT = re.compile(r"(%\w+) = llvm\.mlir\.constant\((\d+) : (?:index|i\d+)\)")
_LAUNCH = re.compile(r"llvm\.call @cuLaunchKernel\(%\w+, ([^)]*)\)")
_OBJECT = re.compile(r'assembly = "((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-9A-F]{2}|\\)")


def begin() -> None:
    """Define names of later releases in the CuTe DSL package, and make its compiler emit PTX."""
    from cutlass import cute
    from cutlass.base_dsl.compiler import Compiler
    from cutlass.cute import runtime

    compile_ = Compiler.compile

    def to_text(self: Any, module: Any, pipeline: str, *rest: Any) -> None:
        compile_(self, module, pipeline.replace("cubin-format=bin", "cubin-format=isa"), *rest)
        _lowered.append(str(module))
        raise RuntimeError("stop after PTX is emitted")

    Compiler.compile = to_text
    runtime.make_fake_compact_tensor = stand_in
    runtime.make_fake_tensor = None
    cute.make_rmem_tensor = cute.make_fragment


_lowered: list[str] = []  # text of lowered MLIR modules, which our exception cannot contain: the package replaces it


class _OfADevice:
    """A NumPy array that DLPack reports as an array on a GPU."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return _CUDA, 0

    def __dlpack__(self, **_: Any) -> Any:
        capsule, pointer_of = self.array.__dlpack__(), ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        tensor = pointer_of(capsule, b"dltensor")
        ctypes.c_int32.from_address(tensor + ctypes.sizeof(ctypes.c_void_p)).value = _CUDA
        return capsule


def stand_in(element: Any, shape: tuple[int, ...], **_: Any) -> Any:
    """Return a CuTe tensor of zeros, row-major."""
    from cutlass.cute.runtime import from_dlpack

    zeros = np.zeros(shape, {"Float16": np.float16, "Float32": np.float32}[element.__name__])
    return from_dlpack(_OfADevice(zeros), 16)


def compiled(case: Case, function: Any, stand_ins: Any) -> Compiled:
    """Compile a host function and read its launch; a tensor is passed as a structure with its address."""
    from cutlass import cute

    parameters = Parameters()
    for argument in case.arguments.values():
        (parameters.structure if isinstance(argument, Array) else parameters.add)(argument)

    _lowered.clear()
    try:
        cute.compile(function, *stand_ins)
    except Exception:
        if not _lowered:
            raise
    (module,) = _lowered
    found, numbers = _OBJECT.search(module), dict(_CONSTANT.findall(module))
    assert found is not None
    (launch,) = _LAUNCH.findall(module)
    *sizes, shared = (int(numbers[name]) for name in launch.split(", ")[:7])
    text = _ESCAPE.sub(_unescaped, found[1].encode()).decode().rstrip("\0")
    entry = text.split(".visible .entry ")[1].split("(")[0].strip()
    return Compiled(text, entry, parameters, sizes[3:], sizes[:3], shared_bytes=shared)


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return b"\\" if escape[1] == b"\\" else bytes.fromhex(escape[1].decode())
