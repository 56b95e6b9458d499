"""Functions of torch's C++ libraries that replace the Python guards in `internals` and create no Python objects.

The functions are found by their mangled names, and the pointer to a tensor's implementation by a search in its Python
object. torch guarantees neither. So all functions are first verified on tensors with known properties. If a lookup or a
check fails, launchers use the Python functions.
"""

from __future__ import annotations

import ctypes
import functools
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import torch

from pyptx_launch.launchers import Native, symbol_address

# ruff: noqa: SLF001 - the module is about private names

_LIBRARIES: Final = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so")
_WORD: Final = ctypes.sizeof(ctypes.c_void_p)

# Dispatch keys that a thread includes under a TorchDispatchMode (fake tensors, make_fx, torch.export), a transform of
# torch.func, or torch.jit.trace.
_KEYS: Final = ("Python", "FuncTorchDynamicLayerFrontMode", "Tracer")

_IS_INCLUDED: Final = "_ZN3c104impl28tls_is_dispatch_key_includedENS_11DispatchKeyE"
# Function that returns true under torch.set_default_device or a user's TorchFunctionMode.
_FUNCTION_MODE: Final = "_ZN2at4impl27torch_function_mode_enabledEv"
_PROFILER: Final = "_ZN5torch8profiler4impl15profilerEnabledEv"
_GRAD_MODE: Final = "aoti_torch_grad_mode_is_enabled"
_REQUIRES_GRAD: Final = "_ZNK3c1010TensorImpl13requires_gradEv"
_IS_NEG: Final = "_ZN2at6native6is_negERKNS_6TensorE"
_IS_ZERO: Final = "_ZN2at6native14_is_zerotensorERKNS_6TensorE"
_IS_INFERENCE: Final = "_ZN2at6native12is_inferenceERKNS_6TensorE"
_BUMP_VERSION: Final = "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE"
_STORAGE_SIZE: Final = "aoti_torch_get_storage_size"
# Names of torch's allocation functions; if a function is missing, `torch.empty_like` allocates outputs.
_ALLOCATION: Final = (
    "aoti_torch_empty_strided",
    "_Z16THPVariable_WrapRKN2at10TensorBaseE",
    "aoti_torch_delete_tensor_object",
)
_CODES: Final = ("aoti_torch_get_dtype", "aoti_torch_get_device_type", "aoti_torch_get_device_index")


@functools.cache
def address(name: str) -> int:
    """Return the address of a function in torch's C++ libraries; 0 if it is missing."""
    folder = Path(torch.__file__).parent / "lib"
    return next(filter(None, (symbol_address(str(folder / library), name) for library in _LIBRARIES)), 0)


@functools.cache
def native() -> Native | None:
    """Return torch's native functions, found and verified once; None if this torch lacks a required one."""
    offset = _offset()
    guards = (
        *((address(_IS_INCLUDED), _key(name)) for name in _KEYS),
        *((address(name), 0) for name in (_FUNCTION_MODE, _PROFILER)),
    )
    rest = [address(name) for name in (_GRAD_MODE, _REQUIRES_GRAD, _IS_INFERENCE, _BUMP_VERSION, _STORAGE_SIZE)]
    of_tensor = (address(_IS_NEG), address(_IS_ZERO))
    known = all(function and key >= 0 for function, key in guards) and all((*of_tensor, *rest))
    if offset is None or not known:
        return None
    found = Native(offset, guards, of_tensor, *rest)
    if not _answers_right(found):
        return None
    empty, wrap, drop = map(address, _ALLOCATION)
    allocating = replace(found, empty=empty, wrap=wrap, drop=drop)
    return allocating if _allocates(allocating) else found


def codes_of(tensor: torch.Tensor) -> tuple[int, ...]:
    """Return the codes (dtype, device type, ordinal) of a tensor for `Native.empty`; () without native allocation."""
    found = native()
    return () if found is None or not found.empty else _codes(tensor, found.offset)


def _codes(tensor: torch.Tensor, offset: int) -> tuple[int, ...]:
    """Return torch's codes of a tensor's dtype and device type, and the ordinal of its device."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32))
    codes = tuple(ctypes.c_int32() for _ in _CODES)
    for name, code in zip(_CODES, codes, strict=True):
        kind(address(name))(id(tensor) + offset, ctypes.byref(code))
    return tuple(code.value for code in codes)


def _allocates(found: Native) -> bool:
    """Return whether torch's native allocation functions exist and create tensors with expected properties."""
    if not all((found.empty, found.wrap, found.drop, *map(address, _CODES))):
        return False
    pointer, code = ctypes.POINTER(ctypes.c_int64), ctypes.c_int32
    kinds = (ctypes.c_int64, pointer, pointer, code, code, code, ctypes.POINTER(ctypes.c_void_p))
    empty = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(found.empty)
    wrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(found.wrap)
    drop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(found.drop)
    for like in (torch.ones(2, 3), torch.ones(4, 2, dtype=torch.bfloat16).t(), torch.tensor(1)):
        row, handle = ctypes.c_int64 * like.dim(), ctypes.c_void_p()
        codes = _codes(like, found.offset)
        if empty(like.dim(), row(*like.shape), row(*like.stride()), *codes, ctypes.byref(handle)) != 0:
            return False
        made = cast("object", wrap(handle))
        drop(handle)
        if type(made) is not torch.Tensor or _looks(made) != _looks(like):
            return False
    return True


def _looks(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.untyped_storage().nbytes()


def _offset() -> int | None:
    """Return the byte offset of the implementation pointer in a tensor's Python object; None if it is ambiguous."""
    size: int = torch._C.TensorBase.__basicsize__
    places = set(range(0, size, _WORD))
    for tensor in (torch.ones(3), torch.nn.Parameter(torch.ones(2)), torch.ones(4)[1:]):
        implementation: int = tensor._cdata
        places = {at for at in places if ctypes.c_size_t.from_address(id(tensor) + at).value == implementation}
    return places.pop() if len(places) == 1 else None


def _key(name: str) -> int:
    """Return the number of torch's dispatch key with this name; -1 if this torch has no such key."""
    try:
        return int(cast("Any", torch._C)._parse_dispatch_key(name))
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return -1


def _answers_right(found: Native) -> bool:
    """Return whether each native function agrees with its Python equivalent, for true and for false results."""
    of_thread = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_uint16)
    of_tensor = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
    is_neg, is_zero, is_inference = (of_tensor(each) for each in (*found.tensor_guards, found.is_inference))
    size_of = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))(found.storage_size)
    requires_grad, bump = of_tensor(found.requires_grad), ctypes.CFUNCTYPE(None, ctypes.c_void_p)(found.bump_version)
    with torch.inference_mode():
        inferred = torch.ones(2)
    with torch.inference_mode(mode=False):
        complex_ones = torch.ones(2, dtype=torch.complex64)
        plain, wanting, negated = torch.ones(2), torch.ones(2, requires_grad=True), complex_ones.conj().imag
        zero, freed = torch._efficientzerotensor((2,)), torch.ones(2)
        freed.untyped_storage().resize_(0)
    for tensor in (plain, wanting, negated, zero, freed, inferred):
        handle, size = id(tensor) + found.offset, ctypes.c_int64(-1)
        implementation = ctypes.c_size_t.from_address(handle).value
        told = is_neg(handle), is_zero(handle), is_inference(handle), requires_grad(implementation)
        if told != (tensor.is_neg(), tensor._is_zerotensor(), tensor.is_inference(), tensor.requires_grad):
            return False
        if size_of(handle, ctypes.byref(size)) != 0 or size.value != tensor.untyped_storage().nbytes():
            return False
    before = plain._version
    bump(id(plain) + found.offset)
    if plain._version != before + 1:
        return False
    grad_mode = of_thread(found.grad_mode)
    modes = []
    for enabled in (True, False):
        with torch.set_grad_enabled(enabled):
            modes.append(grad_mode(0))
    return modes == [True, False] and not any(of_thread(address)(key) for address, key in found.guards)
