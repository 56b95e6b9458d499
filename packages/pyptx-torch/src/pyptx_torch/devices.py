"""Conversion of tensors to kernel arguments: PTX element types, addresses, devices; errors for unsupported tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from pyptx_dsl.contract.arrays import unknown_elements
from pyptx_dsl.errors import DeviceError, DtypeError, LayoutError
from pyptx_ir.element_types import ELEMENT_TYPES, UNTYPED
from pyptx_ir.plugins.rows import Argument
from pyptx_torch.internals import lacks_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

# Element types whose dtype the installed torch has; older releases lack some.
_ROWS: Final = tuple((row, getattr(torch, row.array)) for row in ELEMENT_TYPES if hasattr(torch, row.array))

NAMES: Final[dict[torch.dtype, str]] = {dtype: row.name for row, dtype in reversed(_ROWS)}
"""PTX name of each torch dtype; dtypes without an entry are not supported."""

DTYPES: Final[dict[str, torch.dtype]] = {row.name: dtype for row, dtype in reversed(_ROWS)}
"""torch dtypes with which outputs are allocated, by PTX name."""

BITS: Final = {name: DTYPES[name] for name in UNTYPED}
"""torch dtypes of untyped bits (`b8`, …), which accept any element type of the same width."""

KNOWN: Final = ("cpu", "cuda", "meta")


def argument_of(kernel: str, name: str, tensor: torch.Tensor) -> Argument:
    """Return a tensor's shape, type, strides, device and address; the address is 0 for a tensor without memory.

    Raises LayoutError for a sparse, quantized or lazily negated or conjugated tensor, and DtypeError for an element
    type without a PTX equivalent.
    """
    check_storage(kernel, name, tensor)
    known = NAMES.get(tensor.dtype)
    if known is None:
        raise unknown_elements(kernel, name, tensor)
    return Argument(tuple(tensor.shape), known, tuple(tensor.stride()), address_of(tensor), str(tensor.device))


def address_of(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's first element; 0 for meta and fake tensors, which have no memory."""
    return tensor.data_ptr() if type(tensor) in {torch.Tensor, torch.nn.Parameter} and not tensor.is_meta else 0


def check_memory(kernel: str, names: Sequence[str], tensors: Sequence[torch.Tensor]) -> None:
    """Raise LayoutError for a tensor without memory for its elements; call it just before a launch."""
    for name, tensor in zip(names, tensors, strict=False):
        if not tensor.is_meta and lacks_memory(tensor):
            raise LayoutError(
                f"{kernel}: {name} has no memory: its storage was freed, or it is a zero tensor of autograd",
                help=f"allocate its storage before the call (as FSDP's unshard() does), or pass {name}.clone()",
            )


def dtype_of(kernel: str, name: str, ptx: str) -> torch.dtype:
    """Return torch's dtype for a PTX type name; raise DtypeError if torch has none."""
    known = DTYPES.get(ptx)
    if known is None:
        raise DtypeError(
            f"{kernel}: {name} is .{ptx}, which has no torch dtype", help="declare its elements as bits: b8, b16"
        )
    return known


def check_storage(kernel: str, name: str, tensor: torch.Tensor, *, written: bool = False) -> None:
    """Raise LayoutError or DeviceError for a tensor that kernels cannot access.

    These are sparse, quantized, and lazily negated or conjugated tensors, and tensors of unsupported devices. The help
    text differs for a `written` tensor: the kernel would write to a resolved copy instead.
    """
    if tensor.layout is not torch.strided:
        raise LayoutError(f"{kernel}: {name} is a {tensor.layout} tensor", help=f"pass {name}.to_dense()")
    if tensor.is_quantized:
        raise LayoutError(f"{kernel}: {name} is quantized", help=f"pass {name}.int_repr(), or {name}.dequantize()")
    pending = "neg" if tensor.is_neg() else "conj" if tensor.is_conj() else ""
    if pending:
        what = "negation" if pending == "neg" else "conjugation"
        copy = "pass another tensor as out=, then copy_ it" if written else ""
        raise LayoutError(f"{kernel}: {name} has an unresolved {what}", help=copy or f"pass {name}.resolve_{pending}()")
    check_device(kernel, f"{name} is on", tensor.device)


def check_device(kernel: str, what: str, device: torch.device) -> None:
    """Raise DeviceError for a device whose type cannot run PTX kernels."""
    if device.type not in KNOWN:
        raise DeviceError(f"{kernel}: {what} {device}, which cannot run PTX kernels", help='use "cuda", or "cpu"')
