"""Interoperability with cuda.core, which is imported only when the user requests one of its objects.

Streams are accepted through the protocol `__cuda_stream__`; addresses from objects with `ptr` (`StridedMemoryView`) or
`handle` (`Buffer`). Images are returned as `ObjectCode`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, Protocol, SupportsInt, cast

from pyptx_launch.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

_STREAM_VERSION: Final = 0  # version of the __cuda_stream__ protocol; the tuple is (version, CUstream)


class SupportsCudaStream(Protocol):
    """A stream that implements cuda.core's protocol, such as `cuda.core.Stream`."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol version, 0, and the CUstream."""
        ...


class MemoryView(Protocol):
    """Protocol of a tensor's memory: the attributes of `cuda.core.utils.StridedMemoryView` that pyptx reads."""

    @property
    def ptr(self) -> int:
        """Address of the first element."""
        ...

    @property
    def is_device_accessible(self) -> bool:
        """Whether kernels can access the memory."""
        ...


class Memory(Protocol):
    """Protocol of a memory allocation: the attributes of `cuda.core.Buffer` that pyptx reads."""

    @property
    def handle(self) -> SupportsInt:
        """Address of the allocation."""
        ...

    @property
    def is_device_accessible(self) -> bool:
        """Whether kernels can access the memory."""
        ...


class ObjectCodeLike(Protocol):
    """Protocol of `cuda.core.ObjectCode` (code that cuda.core loads and launches): the members that users need."""

    @property
    def code(self) -> bytes | str:
        """The cubin, fatbin or PTX."""
        ...

    def get_kernel(self, name: str) -> object:
        """Return a `cuda.core.Kernel` for `cuda.core.launch`."""
        ...


def handle_of(stream: SupportsCudaStream) -> int:
    """Return the CUstream number of a stream object; raise LaunchError for an unknown protocol version."""
    tell = getattr(stream, "__cuda_stream__", None)
    if tell is None:
        raise TypeError(f"stream must be a CUstream number or have __cuda_stream__, got {stream!r}")
    version, handle = tell()
    if version != _STREAM_VERSION:
        raise LaunchError(f"unsupported __cuda_stream__ version {version} of {stream!r}: only 0 is supported")
    return int(handle)


def addresses_of(entry: str, pointers: Sequence[int | MemoryView | Memory]) -> list[int]:
    """Return the addresses of tensor objects; raise LaunchError for memory marked as inaccessible to kernels."""
    return [_address(entry, number, pointer) for number, pointer in enumerate(pointers)]


def _address(entry: str, number: int, pointer: int | MemoryView | Memory) -> int:
    if isinstance(pointer, int):
        return pointer
    address = getattr(pointer, "ptr", None)
    if address is None:
        address = getattr(pointer, "handle", None)
    if address is None:
        raise TypeError(f"{entry}: tensor {number} must be an address or have one in ptr or handle, got {pointer!r}")
    if not getattr(pointer, "is_device_accessible", True):
        raise LaunchError(f"{entry}: tensor {number} is not accessible from the device: {pointer!r}")
    return int(cast("SupportsInt", address))


def object_code(kind: str, image: bytes) -> ObjectCodeLike:
    """Return an image of kind `cubin`, `fatbin` or `ptx` as an ObjectCode; raise ImportError without cuda-core."""
    try:
        core = importlib.import_module("cuda.core")
    except ImportError as missing:
        raise ImportError("cuda.core, which has ObjectCode, is not installed: pip install cuda-core") from missing
    return cast("ObjectCodeLike", getattr(core.ObjectCode, f"from_{kind}")(image))
