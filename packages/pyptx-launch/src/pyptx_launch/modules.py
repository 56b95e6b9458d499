"""Loaded code, and what the driver says of its entries."""

from __future__ import annotations

import ctypes
import struct
import weakref
from ctypes import c_int, c_size_t, c_void_p
from dataclasses import dataclass, fields
from typing import Final

from pyptx_launch import _shim, libcuda
from pyptx_launch.errors import CompileError, DriverError, LaunchError

_LOG_BYTES: Final = 16384
_JIT_LOGS: Final = (5, 6, 3, 4)  # CU_JIT_ERROR_LOG_BUFFER, its size, CU_JIT_INFO_LOG_BUFFER, its size
_FATBIN_MAGIC: Final = 0xBA55ED50


@dataclass(frozen=True, slots=True)
class Attributes:
    """What an entry uses on a device: bytes, registers of a thread, and threads of the largest block.

    `ptx` and `binary` are versions of the instruction sets: ten times major plus minor. The fields stand in the order
    of CUfunction_attribute.
    """

    max_threads: int
    shared: int
    constant: int
    local: int
    registers: int
    ptx: int
    binary: int


class Module:
    """Load a cubin, a fatbin, or PTX text, which the driver compiles (`CompileError` carries what it complains of).

    A module belongs to no device: its code is loaded where a plan first runs it. It lives as long as its plans. Raises
    LaunchError for an image that is empty or cut short.
    """

    def __init__(self, image: bytes) -> None:
        self._logs: tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]] | None = None
        values = options = None
        if _checked_is_text(image):
            # The compiler may run as late as at first use: the logs, and their lengths, have to outlive this call.
            self._logs = (ctypes.create_string_buffer(_LOG_BYTES), ctypes.create_string_buffer(_LOG_BYTES))
            errors, information = map(ctypes.addressof, self._logs)
            values = self._values = (c_void_p * 4)(errors, _LOG_BYTES - 1, information, _LOG_BYTES - 1)
            options = (c_int * 4)(*_JIT_LOGS)
        self._library = c_void_p()
        self.pools: Final = _shim.MapPools()  # of its plans' tensor maps that kernels take by address
        try:
            with libcuda.relaxed_capture():
                libcuda.call(
                    "cuLibraryLoadData",
                    *(ctypes.byref(self._library), image, options, values, 4 if options else 0, None, None, 0),
                    doing=f"loading an image of {len(image)} bytes",
                )
        except DriverError as error:
            raise self._compile_error(error) from None
        weakref.finalize(self, _unload, self._library).atexit = False  # the driver goes with the process

    @property
    def log_address(self) -> int:
        """Where the driver's compiler writes its complaints; 0 where it is not asked to compile."""
        return 0 if self._logs is None else ctypes.addressof(self._logs[0])

    def kernel(self, entry: str) -> int:
        """Return the driver's handle of an entry."""
        kernel = c_void_p()
        what = f"looking for entry {entry}"
        try:
            libcuda.call("cuLibraryGetKernel", ctypes.byref(kernel), self._library, entry.encode(), doing=what)
        except DriverError as error:
            raise self._compile_error(error) from None
        return kernel.value or 0

    def attributes(self, entry: str, device: int = 0) -> Attributes:
        """Return what `entry` uses on `device`; loads it there."""
        kernel, found = self.kernel(entry), list[int]()
        for number in range(len(fields(Attributes))):
            value = c_int()
            what = f"asking what entry {entry} uses"
            libcuda.call("cuKernelGetAttribute", ctypes.byref(value), number, kernel, device, doing=what)
            found.append(value.value)
        return Attributes(*found)

    def parameters(self, entry: str) -> tuple[tuple[int, int], ...] | None:
        """Return offset and size of each parameter; None from drivers before CUDA 12.4, which cannot tell."""
        ask = getattr(libcuda.library(), "cuKernelGetParamInfo", None)
        if ask is None:
            return None
        kernel, found = self.kernel(entry), list[tuple[int, int]]()
        offset, size = c_size_t(), c_size_t()
        while ask(kernel, len(found), ctypes.byref(offset), ctypes.byref(size)) == 0:
            found.append((offset.value, size.value))
        return tuple(found)

    def _compile_error(self, error: DriverError) -> DriverError:
        """Return the error with what the driver's compiler said, if it said anything."""
        if self._logs is None or not self._logs[0].value:
            return error
        log = "\n".join(each.value.decode(errors="replace") for each in self._logs if each.value)
        message = str(error).split("\nhint: ")[0]
        return CompileError(message, name=error.name, code=error.code, meaning=error.meaning, log=log)


def _unload(library: c_void_p) -> None:
    with libcuda.relaxed_capture():
        libcuda.library().cuLibraryUnload(library)


def _checked_is_text(image: bytes) -> bool:
    """Tell whether an image is PTX; raises LaunchError for a binary one that has fewer bytes than its headers say.

    The driver believes the headers: it reads behind the end of what is cut short.
    """
    if not image:
        raise LaunchError("an image of no bytes holds no kernel; pass a cubin, a fatbin or PTX")
    padded = image[:64].ljust(64, b"\0")
    if image.startswith(b"\x7fELF"):  # ELF64: the tables of segments and sections, wherever they lie
        segments, sections, _, _, size, count, section_size, section_count = struct.unpack_from("<QQIHHHHH", padded, 32)
        stated = max(64, segments + size * count, sections + section_size * section_count)
    elif struct.unpack_from("<I", padded)[0] == _FATBIN_MAGIC:
        header, body = struct.unpack_from("<HQ", padded, 6)
        stated = max(16, header + body)
    else:
        return True
    if stated > len(image):
        raise LaunchError(f"the image is cut short: it has {len(image)} bytes, and its header tells of {stated}")
    return False
