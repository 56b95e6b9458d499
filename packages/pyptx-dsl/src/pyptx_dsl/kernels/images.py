"""The machine code of a specialisation, for runtimes: ptxas's or nvJitLink's, or the text for the driver to compile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization


def image_of(specialization: Specialization, device: str | None = None) -> bytes:
    """Return the cubin, cached on disk; where no compiler is installed, the PTX itself, which the driver compiles.

    `device` is the plain target of the device that is to run it, such as `sm_90`: PTX for a plain target runs on all
    later devices, but machine code only within its generation, so it is compiled for the device where that is later. A
    specialisation out of a bundle brings its cubin along. What ptxas refuses is an AssemblyFailed at the line of Python
    that wrote it.
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
    """Return the target to compile for. CUDA programming guide, "Binary Compatibility", "PTX Compatibility"."""
    from pyptx_ir.plugins.manager import manager

    if device is None or device == target:
        return target
    own, other = manager().target(target), manager().target(device)
    later = other.number // 10 > own.number // 10
    return device if later and own.kind == "plain" else target
