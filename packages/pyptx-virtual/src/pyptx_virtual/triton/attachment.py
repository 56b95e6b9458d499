"""Attachment of Triton's and Gluon's active driver to the virtual device."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false, reportUnknownArgumentType=false
# Triton has no types, and need not be installed where types are checked.

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import triton
from triton.backends import Backend, backends
from triton.runtime.jit import JITFunction

from pyptx_virtual.triton.backend import PtxBackend, disassemble_ptx
from pyptx_virtual.triton.driver import VirtualDriver
from pyptx_virtual.triton.tuning import tune_without_timing

if TYPE_CHECKING:
    from pyptx_virtual.device import VirtualDevice

VERIFIED = ("3.2", "3.4", "3.6", "3.7", "3.9")
"""Releases of Triton with which the tests run kernels."""


@dataclass(frozen=True, slots=True)
class TritonDoor:
    """Triton's driver on the virtual device; `verified` is whether this release of Triton is tested."""

    driver: VirtualDriver
    release: str
    verified: bool


def attach(device: VirtualDevice) -> TritonDoor:
    """Make the virtual device the one on which Triton compiles and launches kernels, until the process exits."""
    release = ".".join(triton.__version__.split(".")[:2])
    driver = VirtualDriver(device)
    backends["nvidia"] = Backend(PtxBackend, VirtualDriver)
    triton.runtime.driver._default = driver  # noqa: SLF001 - reset_active would create NVIDIA's driver otherwise
    triton.runtime.driver.set_active(driver)
    tune_without_timing()
    disassemble_ptx()
    _distinguish_files()
    return TritonDoor(driver, release, release in VERIFIED)


def _distinguish_files() -> None:
    """Add the files of functions to their keys in Triton's cache of kernels, which have the same key if copied.

    PTX names the source files of a kernel, and findings show their lines.
    """
    owner: Any = next(each for each in JITFunction.__mro__ if "cache_key" in vars(each))
    former = vars(owner)["cache_key"].fget

    def key(function: Any) -> str:  # noqa: ANN401 - Triton's
        code = getattr(getattr(function, "fn", None), "__code__", None)
        text = f"{former(function)} {getattr(code, 'co_filename', '')}"
        return hashlib.sha256(text.encode()).hexdigest()  # part of file names, as Triton's own key

    owner.cache_key = property(key)
