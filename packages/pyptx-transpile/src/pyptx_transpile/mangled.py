"""Names of C++ behind those of PTX."""

from __future__ import annotations

import re
from functools import lru_cache

_INNERMOST = re.compile(r"<[^<>]*>|\((?:anonymous namespace)\)::")


@lru_cache(maxsize=4096)
def signature(name: str) -> str | None:
    """Return the declaration that a mangled name stands for, `scale(float*, int)`; None if it is not mangled.

    Names are read as the Itanium C++ ABI mangles them, which nvcc, clang and Triton do.
    """
    if not name.startswith("_Z"):
        return None
    import itanium_demangler  # type: ignore[import-untyped]  # the package has no types

    try:
        return str(itanium_demangler.parse(name) or "") or None
    except (NotImplementedError, ValueError, IndexError, KeyError, AttributeError, TypeError):  # what it cannot read
        return None


def plain(name: str) -> str:
    """Return the identifier in a mangled name, without its namespaces, parameters and template arguments."""
    text = signature(name)
    if text is None:
        return name
    while (shorter := _INNERMOST.sub("", text)) != text:
        text = shorter
    words = text.partition("(")[0].split("::")[-1].split()
    return words[-1] if words else name
