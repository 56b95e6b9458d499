"""Demangling of C++ names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import demangle

_IDENTIFIER = re.compile(r"\w+", re.ASCII)


def signature(name: str) -> str | None:
    """Return the C++ declaration of a mangled name, `scale(float*, int)`, as `c++filt` prints it; None if not mangled.

    Names must be mangled by the Itanium C++ ABI, as nvcc, clang and Triton do.
    """
    read = _read(name)
    return None if read is None else read.demangled


def plain(name: str) -> str:
    """Return the identifier in a mangled name, without namespaces, parameters and template arguments."""
    read = _read(name)
    found = None if read is None else _IDENTIFIER.match(read.base_name)
    return name if found is None else found[0]


@lru_cache(maxsize=4096)
def _read(name: str) -> demangle.Signature | None:
    if not name.startswith("_Z"):
        return None
    import demangle

    try:  # GNU style matches c++filt: equal for 760 of the 762 names in the corpus that demangle
        return demangle.signature(name, language="itanium", style="gnu")
    except demangle.DemanglingError:
        return None
