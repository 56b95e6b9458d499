"""Modules: code loaded by the driver, and the resources of its entries."""

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
# CUjit_option values: error log buffer and its size, info log buffer and its size.
_JIT_LOGS: Final = (5, 6, 3, 4)
_FATBIN_MAGIC: Final = 0xBA55ED50


@dataclass(frozen=True, slots=True)
class Attributes:
    """Resources of an entry on a device: maximum threads per CTA, bytes of each memory, registers per thread.

    `ptx` and `binary` are ISA versions: 10 x major + minor. The fields are in the order of CUfunction_attribute.
    """

    max_threads: int
    shared: int
    constant: int
    local: int
    registers: int
    ptx: int
    binary: int


class Module:
    """Load a cubin, a fatbin, or PTX text that the driver compiles (`CompileError` contains the compiler's messages).

    A module is not bound to a device: its code is loaded on a device when a plan first runs there. Raises LaunchError
    for an image that is empty or truncated.

    A module lives as long as its plans. Its code stays loaded longer, until all work that had been submitted to the
    devices when the module was deleted has finished: see `pyptx_launch.retired`. The driver does not count later
    replays of a CUDA graph as submitted work. It also does not count work in contexts other than the primary one and
    its green contexts. Keep the plan for as long as the graph, or until such work is done.
    """

    _library = 0  # CUlibrary handle; 0 if no library is loaded, or loading failed

    def __init__(self, image: bytes) -> None:
        self.image: Final = image
        self.kind: Final = _checked_kind(image)
        self._logs: tuple[bytearray, bytearray] | None = None
        options, values = list[object](), list[object]()
        if self.kind == "ptx":
            # The driver may compile PTX as late as at the first use of the library, so the compiler's log buffers must
            # outlive this call.
            self._logs = (bytearray(_LOG_BYTES), bytearray(_LOG_BYTES))
            options = [libcuda.constant("CUjit_option", option) for option in _JIT_LOGS]
            values = [each for log in self._logs for each in (log, _LOG_BYTES - 1)]
        # Device memory for tensor maps of launch plans, for kernels that take a tensor map by address.
        self.pools: Final = _shim.MapPools()
        # An attribute, because __del__ may run at interpreter exit, when modules have lost their globals.
        self._retire = RETIRED.add
        RETIRED.unload()
        self._library = self._load(options, values)

    def __del__(self) -> None:
        """Add the library and the memory of its tensor maps to `RETIRED`, which frees both when no kernel uses them."""
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
        """Address of the error log of the driver's PTX compiler; 0 if the image is not PTX."""
        return 0 if self._logs is None else ctypes.addressof(ctypes.c_char.from_buffer(self._logs[0]))

    def kernel(self, entry: str) -> int:
        """Return the CUkernel of an entry."""
        what = f"looking for entry {entry}"
        try:
            return libcuda.number("cuLibraryGetKernel", self._library, entry.encode(), doing=what)
        except DriverError as error:
            raise self._compile_error(error) from None

    def attributes(self, entry: str, device: int = 0) -> Attributes:
        """Return the resources that `entry` uses on `device`; loads the code there."""
        kernel, what = self.kernel(entry), f"querying the resources of entry {entry}"
        attributes = [libcuda.constant("CUfunction_attribute", number) for number in range(len(fields(Attributes)))]
        return Attributes(
            *(libcuda.number("cuKernelGetAttribute", each, kernel, device, doing=what) for each in attributes)
        )

    def parameters(self, entry: str) -> tuple[tuple[int, int], ...] | None:
        """Return offset and size of each parameter of an entry; loads the code, raises CompileError for invalid PTX.

        Returns None if the driver cannot report them: before CUDA 12.4, or if the code is not for the thread's device.
        """
        kernel, found = self.kernel(entry), list[tuple[int, int]]()
        # The driver loads code lazily and needs a current context, which a new thread lacks.
        with libcuda.any_context(), libcuda.relaxed_capture():
            try:
                while True:
                    found.append(cast("tuple[int, int]", libcuda.call("cuKernelGetParamInfo", kernel, len(found))))
            except NotImplementedError:
                return None
            except DriverError as error:
                # CUDA_ERROR_INVALID_VALUE: the kernel has no parameter of this index, so all parameters are found.
                if error.name == "CUDA_ERROR_INVALID_VALUE":
                    return tuple(found)
                if error.name == "CUDA_ERROR_NO_BINARY_FOR_GPU":
                    return None
                raise self._compile_error(error) from None

    def object_code(self) -> ObjectCodeLike:
        """Return the image as an ObjectCode, which cuda.core loads again; raise ImportError without cuda-core.

        Use the object's kernels with `cuda.core.launch`. The object does not share loaded code with this module's
        plans.
        """
        from pyptx_launch.cuda_core import object_code

        return object_code(self.kind, self.image)

    def _compile_error(self, error: DriverError) -> DriverError:
        """Return a DriverError as CompileError with the output of the driver's PTX compiler, if there is any."""
        said = [bytes(each).split(b"\0")[0] for each in self._logs or ()]
        if not said or not said[0]:
            return error
        log = "\n".join(each.decode(errors="replace") for each in said if each)
        message = str(error).split("\nhelp: ")[0]
        return CompileError(message, name=error.name, code=error.code, meaning=error.meaning, log=log)


def _checked_kind(image: bytes) -> str:
    """Return an image's kind, `cubin`, `fatbin` or `ptx`; raise LaunchError if its headers state a larger size.

    The driver trusts the headers and reads past the end of a truncated image.
    """
    if not image:
        raise LaunchError("the image is empty: pass a cubin, a fatbin or PTX")
    padded = image[:64].ljust(64, b"\0")
    if image.startswith(b"\x7fELF"):  # ELF64: program and section header tables may be at any offset
        segments, sections, _, _, size, count, section_size, section_count = struct.unpack_from("<QQIHHHHH", padded, 32)
        stated, kind = max(64, segments + size * count, sections + section_size * section_count), "cubin"
    elif struct.unpack_from("<I", padded)[0] == _FATBIN_MAGIC:
        header, body = struct.unpack_from("<HQ", padded, 6)
        stated, kind = max(16, header + body), "fatbin"
    else:
        return "ptx"
    if stated > len(image):
        raise LaunchError(f"the image is truncated: it has {len(image)} bytes, its header states {stated}")
    return kind
