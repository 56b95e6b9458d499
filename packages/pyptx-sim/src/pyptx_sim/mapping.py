"""Bytes that the host and launches share: a live view for the host, and copies for launches that cost what they change.

The bytes are in an anonymous file. The host maps the file shared. A launch maps it copy-on-write: it reads the host's
bytes, and its own writes stay private until they are committed, so that the launch can be repeated or discarded.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.program.layout import aligned
from pyptx_sim.spans import address_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

PAGE: Final = mmap.PAGESIZE
_SHARED, _FIXED, _NOT_OVER = 0x01, 0x10, 0x100000  # flags of Linux: "mmap(2)"
# MAP_NORESERVE, which Python's mmap has since 3.13: without it, Linux refuses mappings larger than its memory.
_NO_RESERVE: Final = 0x4000
_FAILED: Final = ctypes.c_void_p(-1).value
_READ_WRITE: Final = mmap.PROT_READ | mmap.PROT_WRITE if sys.platform != "win32" else 0
_PUNCH: Final = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE: "fallocate(2)"
_RESIDENT, _FROM_FILE = np.uint64(1 << 62), np.uint64(1 << 61)  # swapped or present: at least 1 << 62; "pagemap(5)"


def private(size: int, file: int = -1) -> mmap.mmap:
    """Map `size` private bytes of a file, by default zeros; they may be more than the system's memory on Linux."""
    if sys.platform != "linux":
        return mmap.mmap(file, size, access=mmap.ACCESS_COPY)
    anonymous = mmap.MAP_ANONYMOUS if file < 0 else 0
    return mmap.mmap(file, size, flags=mmap.MAP_PRIVATE | anonymous | _NO_RESERVE, prot=_READ_WRITE)


class FileBytes:
    """`size` bytes, zero at first, whose pages take memory once they are accessed; `host` is the live view."""

    def __init__(self, size: int, address: int | None = None) -> None:
        """Create the bytes; on Linux, map them at the host address `address` if it is free."""
        self.size = aligned(size, PAGE)
        self._file = _file(self.size)
        mapped = (address and _Mapping.at(self._file, self.size, address)) or _Mapping.at(self._file, self.size)
        self._mapped = mapped
        if mapped is None:
            whole = mmap.mmap(self._file, self.size, access=mmap.ACCESS_WRITE)
            self.host: NDArray[np.uint8] = np.frombuffer(whole, np.uint8)
        else:
            self.host = np.asarray(mapped)

    def copy(self, size: int) -> NDArray[np.uint8]:
        """Return a copy of the first `size` bytes, rounded up to whole pages; its pages are copied when written."""
        return np.frombuffer(private(aligned(max(size, 1), PAGE), self._file), np.uint8)

    def commit(self, copy: NDArray[np.uint8], spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
        """Write the changes of a copy within the ascending byte ranges `spans` to the live bytes.

        Return the ranges of the pages that were written, within `spans`; all of `spans` if the system does not tell.
        """
        written = _written(copy, spans)
        for low, high in written:
            self.host[low:high] = copy[low:high]
        return written

    def discard(self, low: int, high: int) -> None:
        """Set the bytes of `[low, high)` to zero, and give the memory of whole pages back."""
        first, last = aligned(low, PAGE), high // PAGE * PAGE
        if first >= last or not _punched(self._file, first, last - first):
            self.host[low:high] = 0
            return
        self.host[low:first] = 0
        self.host[last:high] = 0

    def leave(self, spans: Iterable[tuple[int, int]]) -> None:
        """In a forked process: copy the bytes of `spans` to a file of its own, mapped at the same host address."""
        if self._mapped is None:
            raise RuntimeError("device memory cannot be used in a forked process on this platform")
        file = _file(self.size)
        for low, high in spans:
            copied = low
            while copied < high:
                copied += os.pwrite(file, self.host[copied:high].data, copied)
        self._mapped.replace(file)
        os.close(self._file)
        self._file = file

    def __del__(self) -> None:
        """Close the file; mapped views keep the bytes."""
        os.close(self._file)


def _written(copy: NDArray[np.uint8], spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Return the byte ranges, within the ascending ranges `spans`, of the pages of a copy that were written.

    All of `spans` if the system does not tell.
    """
    count, first = len(copy) // PAGE, address_of(copy) // PAGE
    try:
        table = os.open("/proc/self/pagemap", os.O_RDONLY)
    except OSError:
        return spans
    try:
        entries = np.frombuffer(os.pread(table, 8 * count, 8 * first), np.uint64)
    finally:
        os.close(table)
    if len(entries) != count:
        return spans
    changed = np.flatnonzero((entries >= _RESIDENT) & (entries & _FROM_FILE == 0))
    return list(_common(_runs(changed), spans))


def _runs(pages: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ascending page numbers as byte ranges."""
    edges = np.flatnonzero(np.diff(pages) != 1) + 1
    for run in np.split(pages, edges) if len(edges) else [pages] * (len(pages) > 0):
        yield int(run[0]) * PAGE, (int(run[-1]) + 1) * PAGE


def _common(ranges: Iterable[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the intersections of two ascending sequences of disjoint ranges."""
    index = 0
    for low, high in ranges:
        while index < len(spans) and spans[index][1] <= low:
            index += 1
        following = index
        while following < len(spans) and spans[following][0] < high:
            yield max(low, spans[following][0]), min(high, spans[following][1])
            following += 1


class _Mapping:
    """Host memory that maps a file, shared; unmapped when no array refers to it any more."""

    __slots__ = ("_library", "_size", "address")

    def __init__(self, library: ctypes.CDLL, address: int, size: int) -> None:
        self._library, self.address, self._size = library, address, size

    @classmethod
    def at(cls, file: int, size: int, address: int | None = None) -> _Mapping | None:
        """Map a file at `address`, None: anywhere; return None if that is not possible."""
        library = _library()
        if library is None:
            return None
        found: int | None = library.mmap(address, size, _READ_WRITE, _SHARED | (_NOT_OVER if address else 0), file, 0)
        if found is None or found == _FAILED:
            return None
        made = cls(library, found, size)
        return made if address in {None, found} else None  # kernels before 4.17 may map elsewhere

    def replace(self, file: int) -> None:
        """Map another file at the same address."""
        self._library.mmap(self.address, self._size, _READ_WRITE, _SHARED | _FIXED, file, 0)

    @property
    def __array_interface__(self) -> dict[str, object]:
        return {"data": (self.address, False), "shape": (self._size,), "typestr": "|u1", "version": 3}

    def __del__(self) -> None:
        """Unmap the memory."""
        self._library.munmap(self.address, self._size)


@cache
def _library() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    library.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)
    return library


def _punched(file: int, start: int, size: int) -> bool:
    library = _library()
    return library is not None and library.fallocate(file, _PUNCH, start, size) == 0


def _file(size: int) -> int:
    """Return the descriptor of an anonymous file of `size` zero bytes, which take memory once they are accessed."""
    if sys.platform == "linux":
        file = os.memfd_create("pyptx device memory")
    else:
        with tempfile.TemporaryFile() as temporary:
            file = os.dup(temporary.fileno())
    os.truncate(file, size)
    return file
