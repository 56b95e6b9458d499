"""Names of C++ behind those of PTX."""

from __future__ import annotations

import re
from functools import lru_cache

_INNERMOST = re.compile(r"<[^<>]*>|\([^()]*\)")
# What is declared in a function ends in `E`, its length and name, and a number where several are called so.
_LOCAL = re.compile(r"E(?P<length>\d+)(?P<name>[A-Za-z_]\w*?)(?:_\d+)?\Z", re.ASCII)
_QUALIFIERS = frozenset({"const", "volatile", "&", "&&"})  # of a member function, behind its parameters


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
        return _local(name) or name
    while (shorter := _INNERMOST.sub("", text)) != text:
        text = shorter
    words = [word for word in text.split("::")[-1].split() if word not in _QUALIFIERS]
    return words[-1] if words else name


def _local(name: str) -> str | None:
    """Return the identifier of a variable that a function in C++ declares: `left` of `_ZZ4gemmPfE4left`."""
    if not name.startswith("_ZZ"):
        return None
    found = (match for match in _LOCAL.finditer(name) if len(match["name"]) == int(match["length"]))
    return next((match["name"] for match in found), None)
