"""Classify the frames of a call stack: internal code or user code.

A module or package marks itself as internal with `__tracebackhide__ = True`. The nearest mark applies: a package of
examples inside a marked one sets `__tracebackhide__ = False`.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

MARK: Final = "__tracebackhide__"

# Standard modules without `__tracebackhide__` whose stack frames may be between user code and pyptx, as in `with
# ptx.if_(…)`.
_CONTEXTS: Final = "contextlib"
_BETWEEN: Final = frozenset({_CONTEXTS, "functools"})


def is_machinery(frame: FrameType) -> bool:
    """Return whether a frame's module is internal (marked), or between user code and pyptx, such as `contextlib`."""
    names = frame.f_globals
    return is_marked(names) or _root(names) in _between()


def is_internal(frame: FrameType) -> bool:
    """Return whether to hide a frame in a user's traceback: its module is marked (`MARK`), or is `contextlib`."""
    names = frame.f_globals
    return is_marked(names) or _root(names) == _CONTEXTS


def is_marked(names: Mapping[str, object]) -> bool:
    """Return whether a module, given by its globals, is internal: by its mark, or its nearest marked package's."""
    mark, around = names.get(MARK), str(names.get("__name__"))
    while mark is None and "." in around:
        around = around.rpartition(".")[0]
        mark = getattr(sys.modules.get(around), "__dict__", {}).get(MARK)
    return mark is True


def _root(names: Mapping[str, object]) -> str:
    return str(names.get("__name__")).partition(".")[0]


@functools.cache
def _between() -> frozenset[str]:
    """Return the top-level packages, without `MARK`, whose frames may be between user code and pyptx."""
    from pyptx_ir.plugins.homes import HOMES

    return _BETWEEN.union(*(home.frameworks for home in HOMES if home.launches))
