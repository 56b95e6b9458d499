"""Names of C++ behind those of PTX."""

from __future__ import annotations

import re
from functools import lru_cache

_INNERMOST = re.compile(r"<[^<>]*>|\([^()]*\)")
# What is declared in a function ends in `E`, its length and name, and a number where several are called so.
_LOCAL = re.compile(r"E(?P<length>\d+)(?P<name>[A-Za-z_]\w*?)(?:_\d+)?\Z", re.ASCII)
_TAG = re.compile(r"\[abi:([^\]]*)\]")
_TAGS = re.compile(r"(?:\[abi:[^\]]*\]){2,}")
_QUALIFIED = re.compile(r"(?: (?:const|volatile|restrict)\b){2,}")
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
        return _ordered(str(itanium_demangler.parse(name) or ""), name) or None
    except (NotImplementedError, ValueError, IndexError, KeyError, AttributeError, TypeError):  # what it cannot read
        return None


def _ordered(text: str, name: str) -> str:
    """Put tags in the order of the mangled name, and qualifiers in that of the alphabet: the demangler has sets."""

    def tags(run: re.Match[str]) -> str:
        found = _TAG.findall(run[0])
        return "".join([f"[abi:{tag}]" for tag in sorted(found, key=lambda tag: name.find(f"B{len(tag)}{tag}"))])

    text = _TAGS.sub(tags, text)
    return _QUALIFIED.sub(lambda run: "".join([f" {word}" for word in sorted(run[0].split())]), text)


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
