"""What this package exchanges with cuda.core, which it imports only where a user asks for one of its objects.

Streams come in through the protocol `__cuda_stream__`, and addresses from whatever tells them as `StridedMemoryView`
(`ptr`) and `Buffer` (`handle`) do; images go out as `ObjectCode`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, Protocol, SupportsInt, cast

from pyptx_launch.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

_STREAM_VERSION: Final = 0  # of the protocol; the tuple's second number is the handle


class SupportsCudaStream(Protocol):
    """A stream of whoever speaks cuda.core's protocol, such as `cuda.core.Stream`."""

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol, 0, and the CUstream."""
        ...


class View(Protocol):
    """A tensor's memory, shaped like `cuda.core.utils.StridedMemoryView`."""

    @property
    def ptr(self) -> int:
        """The address of its first element."""
        ...

    @property
    def is_device_accessible(self) -> bool:
        """Whether kernels can read it."""
        ...


class Memory(Protocol):
    """An allocation, shaped like `cuda.core.Buffer`."""

    @property
    def handle(self) -> SupportsInt:
        """Its address."""
        ...

    @property
    def is_device_accessible(self) -> bool:
        """Whether kernels can read it."""
        ...


class ObjectCodeLike(Protocol):
    """Code that cuda.core loads and launches: a `cuda.core.ObjectCode`, of which this is a part."""

    @property
    def code(self) -> bytes | str:
        """The image."""
        ...

    def get_kernel(self, name: str) -> object:
        """Return a `cuda.core.Kernel`, which `cuda.core.launch` takes."""
        ...


def handle_of(stream: SupportsCudaStream) -> int:
    """Return the CUstream; raise LaunchError for a version of the protocol that is not known."""
    tell = getattr(stream, "__cuda_stream__", None)
    if tell is None:
        raise TypeError(f"a stream must be a number (a CUstream), or have __cuda_stream__: {stream!r}")
    version, handle = tell()
    if version != _STREAM_VERSION:
        raise LaunchError(f"{stream!r} speaks version {version} of __cuda_stream__, and only 0 is known")
    return int(handle)


def addresses_of(entry: str, pointers: Sequence[int | View | Memory]) -> list[int]:
    """Return the addresses; raise LaunchError for memory that tells that kernels cannot read it."""
    return [_address(entry, number, pointer) for number, pointer in enumerate(pointers)]


def _address(entry: str, number: int, pointer: int | View | Memory) -> int:
    if isinstance(pointer, int):
        return pointer
    address = getattr(pointer, "ptr", None)
    if address is None:
        address = getattr(pointer, "handle", None)
    if address is None:
        raise TypeError(f"{entry}: tensor {number} must be an address, or tell one as ptr or handle: {pointer!r}")
    if not getattr(pointer, "is_device_accessible", True):
        raise LaunchError(f"{entry}: tensor {number} lies in memory that no device reads: {pointer!r}")
    return int(cast("SupportsInt", address))


def object_code(kind: str, image: bytes) -> ObjectCodeLike:
    """Return an image of a kind (`cubin`, `fatbin`, `ptx`) as an ObjectCode; raise ImportError without cuda-core."""
    try:
        core = importlib.import_module("cuda.core")
    except ImportError as missing:
        raise ImportError("an ObjectCode is one of cuda.core's objects: pip install cuda-core") from missing
    return cast("ObjectCodeLike", getattr(core.ObjectCode, f"from_{kind}")(image))
