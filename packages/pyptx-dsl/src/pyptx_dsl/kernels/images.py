"""Machine code of a specialization for runtimes: from ptxas or nvJitLink, or PTX text for the driver to compile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization


def image_of(specialization: Specialization, device: str | None = None) -> bytes:
    """Return the specialization's cubin, cached on disk; without a compiler, its PTX text, which the driver compiles.

    `device` is the base target of the device that is to run it, such as `sm_90`. PTX for a base target runs on all
    later devices, but machine code only within its generation. So the cubin is compiled for the device, if that is of a
    later generation. A specialization from a bundle includes its cubin. Raises AssemblyFailed, at the Python line, for
    PTX that ptxas rejects.
    """
    target = _compiled_for(specialization.target, device)
    if specialization.image is not None and target == specialization.target:
        return specialization.image
    from pyptx_dsl.inspect.answers import Listing, assembled
    from pyptx_ir.toolchain import MissingToolError

    try:
        return assembled(replace(Listing.of(specialization), target=target)).cubin
    except MissingToolError:
        return specialization.text.encode("utf-8", "surrogateescape") + b"\0"


def _compiled_for(target: str, device: str | None) -> str:
    """Return the target to compile a cubin for. CUDA programming guide, "Binary Compatibility", "PTX Compatibility"."""
    from pyptx_ir.plugins.manager import manager

    if device is None or device == target:
        return target
    own, other = manager().target(target), manager().target(device)
    later = other.number // 10 > own.number // 10
    return device if later and own.kind == "plain" else target
