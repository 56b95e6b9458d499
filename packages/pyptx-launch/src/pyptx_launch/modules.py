"""Loaded code, and what the driver says of its entries."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, cast

from pyptx_launch import _shim, libcuda
from pyptx_launch.errors import CompileError, DriverError, LaunchError
from pyptx_launch.retired import RETIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_launch.cuda_core import ObjectCodeLike

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

    A module belongs to no device: its code is loaded where a plan first runs it. Raises LaunchError for an image that
    is empty or cut short.

    A module lives as long as its plans. Its code stays loaded longer, until what the devices had been asked to do by
    then has finished: see `pyptx_launch.retired`. What a CUDA graph replays later is not known to the driver as work,
    nor is what runs in contexts beside the primary one and its green contexts: keep the plan for as long as the graph,
    or until such work is done.
    """

    _library = 0  # nothing is loaded, or it failed

    def __init__(self, image: bytes) -> None:
        self.image: Final = image
        self.kind: Final = _checked_kind(image)
        self._logs: tuple[bytearray, bytearray] | None = None
        options, values = list[object](), list[object]()
        if self.kind == "ptx":
            # The compiler may run as late as at first use: the logs have to outlive this call.
            self._logs = (bytearray(_LOG_BYTES), bytearray(_LOG_BYTES))
            options = [libcuda.constant("CUjit_option", option) for option in _JIT_LOGS]
            values = [each for log in self._logs for each in (log, _LOG_BYTES - 1)]
        self.pools: Final = _shim.MapPools()  # of its plans' tensor maps that kernels take by address
        self._retire = RETIRED.add  # which is there even where Python ends, and modules lose their globals
        RETIRED.unload()
        self._library = self._load(options, values)

    def __del__(self) -> None:
        """Leave the code and the memory of its maps to those that unload them once nothing runs."""
        if self._library:
            self._retire(self._library, self.pools)

    def _load(self, options: Sequence[object], values: Sequence[object]) -> int:
        arguments = (self.image, options, values, len(options), (), (), 0)
        what = f"loading an image of {len(self.image)} bytes"
        try:
            with libcuda.relaxed_capture():
                return libcuda.number("cuLibraryLoadData", *arguments, doing=what)
        except DriverError as error:
            raise self._compile_error(error) from None

    @property
    def log_address(self) -> int:
        """Where the driver's compiler writes its complaints; 0 where it is not asked to compile."""
        return 0 if self._logs is None else ctypes.addressof(ctypes.c_char.from_buffer(self._logs[0]))

    def kernel(self, entry: str) -> int:
        """Return the driver's handle of an entry."""
        what = f"looking for entry {entry}"
        try:
            return libcuda.number("cuLibraryGetKernel", self._library, entry.encode(), doing=what)
        except DriverError as error:
            raise self._compile_error(error) from None

    def attributes(self, entry: str, device: int = 0) -> Attributes:
        """Return what `entry` uses on `device`; loads it there."""
        kernel, what = self.kernel(entry), f"asking what entry {entry} uses"
        attributes = [libcuda.constant("CUfunction_attribute", number) for number in range(len(fields(Attributes)))]
        return Attributes(
            *(libcuda.number("cuKernelGetAttribute", each, kernel, device, doing=what) for each in attributes)
        )

    def parameters(self, entry: str) -> tuple[tuple[int, int], ...] | None:
        """Return offset and size of each parameter; loads the code, and raises CompileError for PTX that is wrong.

        None where the driver cannot tell: before CUDA 12.4, and of code for another device than this thread's.
        """
        kernel, found = self.kernel(entry), list[tuple[int, int]]()
        # The driver loads code lazily, and needs a context for it, which a thread may not have yet.
        with libcuda.any_context(), libcuda.relaxed_capture():
            try:
                while True:
                    found.append(cast("tuple[int, int]", libcuda.call("cuKernelGetParamInfo", kernel, len(found))))
            except NotImplementedError:
                return None
            except DriverError as error:
                if error.name == "CUDA_ERROR_INVALID_VALUE":  # the one before was the last
                    return tuple(found)
                if error.name == "CUDA_ERROR_NO_BINARY_FOR_GPU":
                    return None
                raise self._compile_error(error) from None

    def object_code(self) -> ObjectCodeLike:
        """Return the image as an object code of cuda.core, which loads it anew; raises ImportError without cuda-core.

        Its kernels take part in what cuda.core launches; those of this module's plans are not shared with it.
        """
        from pyptx_launch.cuda_core import object_code

        return object_code(self.kind, self.image)

    def _compile_error(self, error: DriverError) -> DriverError:
        """Return the error with what the driver's compiler said, if it said anything."""
        said = [bytes(each).split(b"\0")[0] for each in self._logs or ()]
        if not said or not said[0]:
            return error
        log = "\n".join(each.decode(errors="replace") for each in said if each)
        message = str(error).split("\nhint: ")[0]
        return CompileError(message, name=error.name, code=error.code, meaning=error.meaning, log=log)


def _checked_kind(image: bytes) -> str:
    """Return `cubin`, `fatbin` or `ptx`; raise LaunchError for an image that has fewer bytes than its headers say.

    The driver believes the headers: it reads behind the end of what is cut short.
    """
    if not image:
        raise LaunchError("an image of no bytes holds no kernel; pass a cubin, a fatbin or PTX")
    padded = image[:64].ljust(64, b"\0")
    if image.startswith(b"\x7fELF"):  # ELF64: the tables of segments and sections, wherever they lie
        segments, sections, _, _, size, count, section_size, section_count = struct.unpack_from("<QQIHHHHH", padded, 32)
        stated, kind = max(64, segments + size * count, sections + section_size * section_count), "cubin"
    elif struct.unpack_from("<I", padded)[0] == _FATBIN_MAGIC:
        header, body = struct.unpack_from("<HQ", padded, 6)
        stated, kind = max(16, header + body), "fatbin"
    else:
        return "ptx"
    if stated > len(image):
        raise LaunchError(f"the image is cut short: it has {len(image)} bytes, and its header tells of {stated}")
    return kind
