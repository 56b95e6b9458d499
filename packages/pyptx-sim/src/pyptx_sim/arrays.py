"""Callers' arrays: NumPy arrays, and CPU tensors of torch, viewed as NumPy arrays of raw storage.

Torch is never imported: a caller that has a tensor has imported it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from pyptx_ir.element_types import BY_ARRAY, BY_NAME, UNTYPED, takes
from pyptx_ir.plugins.rows import Argument
from pyptx_sim.errors import LaunchError
from pyptx_sim.spans import ALIGNMENT, address_of, owner_of, refuse_mask, span_of_numpy, span_of_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.element_types import ElementType
    from pyptx_ir.plugins.rows import Output
    from pyptx_sim.operation import Array
    from pyptx_sim.spans import HostSpan
    from pyptx_sim.types import DType


class Tensor(Protocol):
    """Protocol of a torch tensor: the attributes that the simulator reads."""

    @property
    def shape(self) -> Sequence[int]:
        """Extent of each of the tensor's axes in elements."""
        ...

    @property
    def dtype(self) -> object:
        """Element type (`torch.dtype`)."""
        ...

    @property
    def device(self) -> Any:  # noqa: ANN401 - torch.device
        """Device of the tensor's storage."""
        ...

    def stride(self) -> tuple[int, ...]:
        """Return the tensor's strides in elements."""
        ...

    def data_ptr(self) -> int:
        """Return the address of the tensor's first element."""
        ...

    def detach(self) -> Any:  # noqa: ANN401 - another tensor
        """Return the tensor without its autograd history."""
        ...


def is_tensor(value: object) -> bool:
    """Return whether `value` is a torch tensor with storage, on any device."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor) and type(value).__name__ != "FakeTensor"


def is_cpu_array(value: object) -> bool:
    """Return whether `value` is a NumPy array or a CPU tensor of torch."""
    if isinstance(value, np.ndarray):
        return True
    return is_tensor(value) and cast("Tensor", value).device.type == "cpu"


def dtype_name(value: object) -> str:
    """Return the PTX name of an array's element type; LaunchError for a type that PTX lacks."""
    array, name = _as_array(value), type_of(value)
    known = BY_ARRAY.get(name)
    if known is None:
        raise LaunchError(f"unsupported array dtype {name}", help="convert the array to a dtype that PTX has")
    if array is not None and not array.dtype.isnative:
        raise LaunchError(
            f"unsupported byte order of an array: {array.dtype.str}",
            help='pass array.astype(array.dtype.newbyteorder("="))',
        )
    return known.name


def type_of(value: object) -> str:
    """Return the name of an array's element type, as NumPy and torch spell it."""
    array = _as_array(value)
    return _name_of(array.dtype) if array is not None else str(cast("Tensor", value).dtype).rpartition(".")[2]


@cache
def _name_of(dtype: DType) -> str:
    """Return the name of an element type; cached because NumPy builds it on every access."""
    return dtype.name


def _as_array(value: object) -> Array | None:
    """Return `value` if it is a NumPy array, else None."""
    return cast("Array", value) if isinstance(value, np.ndarray) else None


def argument_of(value: object) -> Argument:
    """Return the properties of an array for which kernels are specialized: shape, dtype, strides and address."""
    array = _as_array(value)
    if array is not None:
        refuse_mask(array)
        size = array.dtype.itemsize
        strides = tuple(stride // size for stride in array.strides)
        if not array.flags.forc and any(
            stride % size for extent, stride in zip(array.shape, array.strides, strict=True) if extent > 1
        ):
            raise LaunchError(
                f"array strides {array.strides} are not multiples of the element size {size}",
                help="pass a copy of the array",
            )
        return Argument(array.shape, dtype_name(array), strides, _address(array), "cpu")
    tensor = cast("Tensor", value)
    _check_storage(value)
    return Argument(tuple(tensor.shape), dtype_name(value), tuple(tensor.stride()), tensor.data_ptr(), "cpu")


def _address(array: Array) -> int:
    """Return the host address of an array, as if NumPy aligned its allocations like cudaMalloc.

    The start of an allocation by NumPy counts as a multiple of `ALIGNMENT`; NumPy itself aligns to 16 bytes only.
    """
    owner = owner_of(array)
    return address_of(array) - address_of(owner) % ALIGNMENT if owner.flags.owndata else address_of(array)


def _check_storage(value: object) -> None:
    """Raise LaunchError for a tensor whose storage does not contain its elements in plain form.

    That is a sparse or quantized tensor, one with a pending negation or conjugation, or one without memory.
    """
    tensor = cast("Any", value)
    if str(tensor.layout) != "torch.strided":
        raise LaunchError(f"unsupported tensor layout {tensor.layout}", help="pass tensor.to_dense()")
    pending = "neg" if tensor.is_neg() else "conj" if tensor.is_conj() else ""
    if pending:
        what = "negation" if pending == "neg" else "conjugation"
        raise LaunchError(f"unsupported tensor with a pending {what}", help=f"pass tensor.resolve_{pending}()")
    if tensor.is_quantized:
        raise LaunchError("unsupported quantized tensor", help="pass tensor.int_repr()")
    if tensor.numel() and not (tensor.untyped_storage().nbytes() and tensor.data_ptr()):
        raise LaunchError("tensor has no memory", help="allocate the tensor's storage first")


def span_of(value: object) -> HostSpan:
    """Return the bytes that an array spans in host memory; LaunchError if a kernel cannot access it in place.

    As on a GPU, a kernel receives the address of the first element; bytes between elements are memory of the same
    buffer.
    """
    array = _as_array(value)
    if array is not None:
        return span_of_numpy(array)
    _check_storage(value)
    return span_of_tensor(value)


def storage_of(value: object) -> Array:
    """Return the bytes from an array's first element through its last, as a view in order of address."""
    return span_of(value).data


def host_array(value: Array | Tensor) -> Array:
    """Return a NumPy array unchanged, or the bytes that a CPU tensor of torch spans."""
    return storage_of(value) if is_tensor(value) else cast("Array", value)


def shares_memory(first: object, second: object) -> bool:
    """Return whether the address ranges of two arrays overlap."""
    one, other = span_of(first), span_of(second)
    return one.low < other.high and other.low < one.high and bool(one.size and other.size)


def empty_like_callers(output: Output, callers: Sequence[object]) -> object:
    """Return an array of zeros for an output, in the output's layout: a tensor if the caller passed tensors."""
    size = math.prod(output.shape)
    if any(is_tensor(value) for value in callers):
        torch = sys.modules["torch"]
        flat = torch.zeros(size, dtype=getattr(torch, _element(output).array))
        return flat.as_strided(output.shape, output.strides)
    for value in callers:
        array = _as_array(value)
        if array is not None and array.dtype.kind != "b" and dtype_name(array) == output.dtype:
            return _laid_out(np.zeros(size, array.dtype), output)
    return _laid_out(np.zeros(size, _numpy_dtype(output)), output)


def _laid_out(flat: Array, output: Output) -> Array:
    """View a one-dimensional array in the shape and strides of an output that has no gaps."""
    strides = tuple(stride * flat.itemsize for stride in output.strides)
    return np.ndarray(output.shape, flat.dtype, flat.view(np.uint8), strides=strides)


def _element(output: Output) -> ElementType:
    """Return the element type of an output; LaunchError if neither NumPy nor torch has a dtype for it."""
    row = BY_NAME.get(output.dtype)
    if row is None:
        raise LaunchError(f"output {output.name}: NumPy and torch have no dtype for .{output.dtype}")
    return row


def _numpy_dtype(output: Output) -> np.dtype[Any]:
    """Return the dtype for an output: NumPy's, or that of ml_dtypes if loaded, else an unsigned integer."""
    row = _element(output)
    if hasattr(np, row.array):
        return np.dtype(row.array)
    extended = getattr(sys.modules.get("ml_dtypes"), row.array, None)
    return np.dtype(extended if extended is not None else f"u{row.bytes}")


def _holds(array: object, argument: Argument, wanted: str) -> bool:
    """Return whether an array can hold elements of dtype `wanted`; a bool array can if `wanted` is a bit type."""
    return takes(wanted, argument.dtype) and (wanted in UNTYPED or type_of(array) != "bool")


@dataclass(frozen=True, slots=True)
class GivenOutput:
    """An output array from the caller that matches the kernel's output in shape, dtype, strides and alignment."""

    array: object

    @staticmethod
    def check(array: object, output: Output) -> GivenOutput:
        """Return a `GivenOutput` of `array` if the array matches `output`; LaunchError otherwise."""
        if not is_cpu_array(array):
            raise LaunchError(f"out= for {output.name} must be an array on the CPU, got {type(array).__name__}")
        argument = argument_of(array)
        if argument.shape != tuple(output.shape) or not _holds(array, argument, output.dtype):
            raise LaunchError(
                f"out= for {output.name}: expected shape {tuple(output.shape)} of {output.dtype}, "
                f"got {argument.shape} of {argument.dtype}"
            )
        compared = zip(argument.shape, argument.strides, output.strides, strict=True)
        if 0 not in argument.shape and any(actual != wanted for extent, actual, wanted in compared if extent > 1):
            raise LaunchError(
                f"out= for {output.name}: expected strides {output.strides}, got {argument.strides}",
                help="pass a dense array" if output.strides[-1:] == (1,) else "pass array.T of a dense array",
            )
        if argument.address % output.alignment:
            place = f"address {argument.address:#x} is not aligned to {output.alignment} bytes"
            raise LaunchError(f"out= for {output.name}: {place}")
        return GivenOutput(array)
