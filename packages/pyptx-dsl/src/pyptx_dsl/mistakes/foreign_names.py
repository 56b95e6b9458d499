"""Error for names of CUDA, Triton or C that Python does not define, such as `threadIdx.x` or `tl.program_id(0)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import UndefinedNameError
from pyptx_dsl.python_habits import meaning_of

if TYPE_CHECKING:
    from pyptx_dsl.mistakes.source_expressions import ExpressionContext

__all__ = ["foreign_name"]

_MODULES: Final = frozenset({"tl", "triton", "libdevice", "cuda", "cute", "cutlass", "gl", "nl", "math", "np", "numpy"})


def foreign_name(error: NameError, place: ExpressionContext | None, where: str | None) -> UndefinedNameError | None:
    """Return the error for a name of CUDA, Triton or C; None for any other undefined name."""
    name = str(error.name)
    text, meant = name, meaning_of(name)
    if name in _MODULES and place is not None:
        chain = [name]
        for outer in place.around:
            if not isinstance(outer, ast.Attribute):
                break
            chain.append(outer.attr)
        text = ".".join(chain)
        meant = next(filter(None, map(meaning_of, reversed(chain[1:]))), None)
    if meant is None:
        return None
    return UndefinedNameError(f"{text} is not defined in pyptx kernels", where=where, help=meant)
