"""Which frames of a call stack are machinery, and not the user's code.

Machinery says so itself: a module, or a package for all that lies in it, sets `__tracebackhide__ = True`. The nearest
word counts: a package of examples inside a marked one says `__tracebackhide__ = False`.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

MARK: Final = "__tracebackhide__"

# Python's own modules that stand between a user's line and ours, as in `with ptx.if_(…)`; they carry no mark.
_CONTEXTS: Final = "contextlib"
_BETWEEN: Final = frozenset({_CONTEXTS, "functools"})


def is_machinery(frame: FrameType) -> bool:
    """Tell whether a frame stands between the user's code and ours: marked, a framework's, or Python's go-between."""
    names = frame.f_globals
    return is_marked(names) or _root(names) in _between()


def is_internal(frame: FrameType) -> bool:
    """Tell whether a frame says nothing in a user's traceback: marked, or contextlib's between two others."""
    names = frame.f_globals
    return is_marked(names) or _root(names) == _CONTEXTS


def is_marked(names: Mapping[str, object]) -> bool:
    """Tell whether a module (given by its globals) is marked, or else the nearest package around it that says."""
    mark, around = names.get(MARK), str(names.get("__name__"))
    while mark is None and "." in around:
        around = around.rpartition(".")[0]
        mark = getattr(sys.modules.get(around), "__dict__", {}).get(MARK)
    return mark is True


def _root(names: Mapping[str, object]) -> str:
    return str(names.get("__name__")).partition(".")[0]


@functools.cache
def _between() -> frozenset[str]:
    """Return the first words of modules that carry no mark: Python's, and those whose dispatchers call a runtime."""
    from pyptx_ir.plugins.homes import HOMES

    return _BETWEEN.union(*(home.frameworks for home in HOMES if home.launches))
