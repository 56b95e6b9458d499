"""Arrays of callers: NumPy's, and torch tensors on the CPU, seen as NumPy arrays of raw storage.

Torch is never imported: whoever has a tensor has imported it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

import numpy as np

from pyptx_ir.plugins.rows import Argument
from pyptx_sim.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.operation import Array

# PTX names of element types by their name in NumPy (with ml_dtypes) and torch.
_NAMES: Final = {
    "bool": "u8",
    "uint8": "u8",
    "int8": "s8",
    "uint16": "u16",
    "int16": "s16",
    "uint32": "u32",
    "int32": "s32",
    "uint64": "u64",
    "int64": "s64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e8m0fnu": "ue8m0",
}
_FRAMEWORK_NAMES: Final = {
    **{ptx: name for name, ptx in _NAMES.items() if name != "bool"},
    # tf32 lies in memory as f32; bits have no type, and integers are as good as any.
    "tf32": "float32",
    "b8": "uint8",
    "b16": "int16",
    "b32": "int32",
    "b64": "int64",
}
_BITS: Final = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}  # bytes of types that hold any other of their width


class Tensor(Protocol):
    """What is used of a torch tensor."""

    @property
    def shape(self) -> Sequence[int]:
        """The extents."""
        ...

    @property
    def dtype(self) -> object:
        """The element type."""
        ...

    @property
    def device(self) -> Any:  # noqa: ANN401 - torch.device
        """Where it lives."""
        ...

    def stride(self) -> tuple[int, ...]:
        """Return the strides in elements."""
        ...

    def data_ptr(self) -> int:
        """Return the address."""
        ...

    def detach(self) -> Any:  # noqa: ANN401 - another tensor
        """Return the tensor without its history."""
        ...


def is_tensor(value: object) -> bool:
    """Tell whether `value` is a torch tensor with storage, on any device."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and type(value).__name__ != "FakeTensor"


def is_cpu_array(value: object) -> bool:
    """Tell whether `value` is a NumPy array or a torch tensor on the CPU."""
    if isinstance(value, np.ndarray):
        return True
    return is_tensor(value) and cast("Tensor", value).device.type == "cpu"


def dtype_name(value: object) -> str:
    """Return the PTX name of an array's element type; LaunchError for one that PTX lacks."""
    array = _as_array(value)
    name = array.dtype.name if array is not None else str(cast("Tensor", value).dtype).rpartition(".")[2]
    known = _NAMES.get(name)
    if known is None:
        raise LaunchError(f"arrays of {name} cannot be passed to a kernel", hint="convert the array to a PTX type")
    if array is not None and not array.dtype.isnative:
        raise LaunchError(
            f"an array of foreign byte order ({array.dtype.str}) cannot be passed to a kernel",
            hint='convert it: array.astype(array.dtype.newbyteorder("="))',
        )
    return known


def _as_array(value: object) -> Array | None:
    """Return `value` if it is NumPy's."""
    return cast("Array", value) if isinstance(value, np.ndarray) else None


def argument_of(value: object) -> Argument:
    """Return what a kernel must know of an array."""
    array = _as_array(value)
    if isinstance(array, np.ma.MaskedArray):
        raise LaunchError(
            "a masked array cannot be passed to a kernel: its mask would be lost",
            hint="pass array.filled(value), or array.data and the mask as arrays of their own",
        )
    if array is not None:
        size = array.dtype.itemsize
        strides = tuple(stride // size for stride in array.strides)
        return Argument(array.shape, dtype_name(array), strides, array.ctypes.data, "cpu")
    tensor = cast("Tensor", value)
    _check_storage(value)
    return Argument(tuple(tensor.shape), dtype_name(value), tuple(tensor.stride()), tensor.data_ptr(), "cpu")


def _check_storage(value: object) -> None:
    """Raise LaunchError for a tensor whose storage does not hold its elements one by one."""
    tensor = cast("Any", value)
    if str(tensor.layout) != "torch.strided":
        raise LaunchError(f"a {tensor.layout} tensor cannot be passed to a kernel", hint="pass tensor.to_dense()")
    if tensor.is_neg():
        raise LaunchError(
            "a tensor whose negation is pending cannot be passed to a kernel", hint="pass tensor.resolve_neg()"
        )


def storage_of(value: object) -> Array:
    """Return the bytes that an array spans, in order of address and shared with it."""
    array = _as_array(value)
    if array is None:
        array = _tensor_as_array(value)
    spans = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)]
    if any(span < 0 for span in spans):
        raise LaunchError("an array with negative strides cannot be passed to a kernel", hint="copy it first")
    size = sum(spans) + array.itemsize if array.size else 0
    writeable = array.flags.writeable
    raw = array if array.dtype.isbuiltin == 1 else array.view(np.dtype(f"u{array.itemsize}"))
    flat = np.lib.stride_tricks.as_strided(raw, (size // array.itemsize,), (array.itemsize,), writeable=writeable)
    return flat.view(np.uint8)


def shares_memory(first: object, second: object) -> bool:
    """Tell whether two arrays span common bytes."""
    return bool(np.may_share_memory(storage_of(first), storage_of(second)))


def _tensor_as_array(value: object) -> Array:
    """View a tensor's elements as integers of their size: NumPy has neither bf16 nor fp8."""
    torch = sys.modules["torch"]
    tensor = cast("Any", value).detach()
    bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    return cast("Array", tensor.view(bits).numpy())


def empty_like_callers(output: Output, callers: Sequence[object]) -> object:
    """Return an array for an output, of the callers' kind and the output's layout; zeros, so that runs repeat."""
    size = math.prod(output.shape)
    if any(is_tensor(value) for value in callers):
        torch = sys.modules["torch"]
        flat = torch.zeros(size, dtype=getattr(torch, _framework_name(output)))
        return flat.as_strided(output.shape, output.strides)
    for value in callers:
        array = _as_array(value)
        if array is not None and array.dtype.kind != "b" and dtype_name(array) == output.dtype:
            return _laid_out(np.zeros(size, array.dtype), output)
    return _laid_out(np.zeros(size, _numpy_dtype(output)), output)


def _laid_out(flat: Array, output: Output) -> Array:
    """View a flat array in the shape and strides of an output, which is dense."""
    strides = tuple(stride * flat.itemsize for stride in output.strides)
    return np.ndarray(output.shape, flat.dtype, flat.view(np.uint8), strides=strides)


def _framework_name(output: Output) -> str:
    name = _FRAMEWORK_NAMES.get(output.dtype)
    if name is None:
        raise LaunchError(f"output {output.name} is .{output.dtype}, of which no framework has arrays")
    return name


def _numpy_dtype(output: Output) -> np.dtype[Any]:
    """Return NumPy's dtype for an output; ml_dtypes' where it is loaded, else the raw bits."""
    name = _framework_name(output)
    if hasattr(np, name):
        return np.dtype(name)
    extended = getattr(sys.modules.get("ml_dtypes"), name, None)
    return np.dtype(extended if extended is not None else f"u{2 if output.dtype == 'bf16' else 1}")


def _holds(array: object, dtype: str, wanted: str) -> bool:
    """Tell whether the elements of an array can be those of an output: of its type, or of the width of its bits."""
    if dtype == wanted or (wanted == "tf32" and dtype == "f32"):
        return True
    given = _as_array(array)
    size = given.itemsize if given is not None else cast("Any", array).element_size()
    return _BITS.get(wanted) == size


@dataclass(frozen=True, slots=True)
class Given:
    """An output array that the caller brought, checked against what the kernel writes."""

    array: object

    @staticmethod
    def check(array: object, output: Output) -> Given:
        """Return `array` if it fits `output`; LaunchError otherwise."""
        if not is_cpu_array(array):
            raise LaunchError(f"out= for {output.name} is {type(array).__name__}, not an array on the CPU")
        argument = argument_of(array)
        if argument.shape != tuple(output.shape) or not _holds(array, argument.dtype, output.dtype):
            raise LaunchError(
                f"out= for {output.name} has shape {argument.shape} and dtype {argument.dtype}; "
                f"the kernel writes {tuple(output.shape)} of {output.dtype}"
            )
        compared = zip(argument.shape, argument.strides, output.strides, strict=True)
        if any(actual != wanted for extent, actual, wanted in compared if extent > 1):
            raise LaunchError(
                f"out= for {output.name} has strides {argument.strides}; the kernel writes strides {output.strides}",
                hint="pass a dense array" if output.strides[-1:] == (1,) else "pass array.T of a dense array",
            )
        if argument.address % output.alignment:
            place = f"address {argument.address:#x}, no multiple of {output.alignment} bytes"
            raise LaunchError(f"out= for {output.name} starts at {place}")
        return Given(array)
