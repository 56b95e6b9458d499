"""The user's line among the source lines of an instruction: calls of an installed library are not the user's code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Frame

# Folders of installed libraries: a Python package, Triton's own functions wherever Triton is, the system's headers, and
# the CUDA toolkit's headers on Linux and Windows. Other header files belong to the user.
_LIBRARY: Final = re.compile(
    r""".*?/(?: (?:site|dist)-packages/[^/]+
              | triton/(?:language|experimental/gluon/language)
              | usr/(?:local/)?include
              | cuda(?:-[\d.]+)?/(?:[^/]+/)*include
              | CUDA/v[\d.]+/include
            )/""",
    re.VERBOSE,
)


def user_frame(frames: Sequence[Frame]) -> Frame:
    """Return the innermost of one or more frames that is outside of installed libraries.

    A kernel that is itself in a library, such as an operator of an installed package, has no such frame. Then it is the
    innermost frame in the library of the outermost frame, the kernel.
    """
    libraries = [_library(frame) for frame in frames]
    own = "" if "" in libraries else libraries[-1]
    return frames[libraries.index(own)]


def _library(frame: Frame) -> str:
    """Return the folder of the installed library that contains a frame's file; empty for the user's own files."""
    found = _LIBRARY.match(frame.file.replace("\\", "/"))
    return "" if found is None else found[0]
