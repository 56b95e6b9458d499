"""Conversion between PTX words (opcodes, modifiers) and Python attributes.

| PTX word | attribute | rule |
|---|---|---|
| `add` | `add` | the word itself |
| `global`, `and`, `async` | `global_`, `and_`, `async_` | Python keywords get a trailing underscore |
| `2d`, `128x256b` | `_2d`, `_128x256b` | a leading digit gets a leading underscore |
| `shared::cta` | `shared__cta` | `::` is written `__` |
| `sp::2:4` | `sp__2___4` | `:` alone is written `___` |

Any word may have a trailing underscore (`xor_` is `xor`), so names do not depend on the Python version.
"""

from __future__ import annotations

import keyword
from functools import lru_cache

__all__ = ["is_attribute", "to_ptx", "to_python"]


@lru_cache(maxsize=4096)
def to_ptx(attribute: str) -> str:
    """Return the PTX word for a Python attribute."""
    word = attribute
    if len(word) > 1 and word[0] == "_" and word[1].isdecimal():
        word = word[1:]
    if word.endswith("_") and not word.endswith("__"):
        word = word[:-1]
    return word.replace("___", ":").replace("__", "::")


@lru_cache(maxsize=4096)
def to_python(word: str) -> str:
    """Return the Python attribute for a PTX word; inverse of `to_ptx`."""
    attribute = word.replace("::", "__").replace(":", "___")
    if attribute[:1].isdecimal():
        return f"_{attribute}"
    return f"{attribute}_" if keyword.iskeyword(attribute) else attribute


@lru_cache(maxsize=4096)
def is_attribute(word: str) -> bool:
    """Return whether a PTX word can be written as an attribute; Python reserves names with a leading underscore."""
    attribute = to_python(word)
    private = attribute[:1] == "_" and not attribute[1:2].isdecimal()
    return attribute.isidentifier() and not private and to_ptx(attribute) == word
