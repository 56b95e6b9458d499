"""The machine code of a specialisation, for runtimes: ptxas's or nvJitLink's, or the text for the driver to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Specialization


def image_of(specialization: Specialization) -> bytes:
    """Return the cubin, cached on disk; where no compiler is installed, the PTX itself, which the driver compiles.

    A specialisation out of a bundle brings its cubin along. What ptxas refuses is an AssemblyFailed at the line of
    Python that wrote it.
    """
    if specialization.image is not None:
        return specialization.image
    from pyptx_dsl.inspection import Listing, assembled
    from pyptx_ir.toolchain import MissingToolError

    try:
        return assembled(Listing.of(specialization)).cubin
    except MissingToolError:
        return specialization.text.encode("utf-8", "surrogateescape") + b"\0"
