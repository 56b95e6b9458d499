"""Names of the arguments of a bundle's C functions: arrays, sizes, template values, scalars."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_dsl.errors import BundleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyptx_bundles.kernel_signature import KernelSignature
    from pyptx_bundles.manifest import BundleEntry, Plain

ADDRESS: Final = "unsigned long long"
# Scalar PTX type -> its C type, and its format character in Python's `struct`.
SCALARS: Final = {
    **dict.fromkeys(("u8", "b8"), ("unsigned char", "B")),
    **dict.fromkeys(("u16", "b16"), ("unsigned short", "H")),
    **dict.fromkeys(("u32", "b32"), ("unsigned int", "I")),
    **dict.fromkeys(("u64", "b64"), (ADDRESS, "Q")),
    "s8": ("signed char", "b"),
    "s16": ("short", "h"),
    "s32": ("int", "i"),
    "s64": ("long long", "q"),
    "f32": ("float", "f"),
    "f64": ("double", "d"),
}
# `Selector.kind` -> C declaration prefix of an argument that selects the specialization.
SELECTORS: Final = {"flag": "int ", "integer": "long long ", "number": "double ", "text": "const char *"}
_LEAST_INTEGER, _MOST_INTEGER = -(1 << 63), (1 << 63) - 1  # smallest and largest C long long
# C99 5.2.4.1 guarantees 4095 characters of a string literal.
_LONGEST_WORDS: Final = 2000


@dataclass(frozen=True, slots=True)
class Selector:
    """A size or other value by which C code selects a specialization; `kind` is a key of `SELECTORS`."""

    keyword: str
    member: str
    kind: str

    def declaration(self) -> str:
        """Return the C declaration of the struct member that contains this size or other selecting value."""
        return f"{SELECTORS[self.kind]}{self.member};"

    def condition(self, place: str, value: Plain) -> str:
        """Return the C comparison of the selector's member and `value`; `place`: the struct's name and `.` or `->`."""
        member = f"{place}{self.member}"
        if self.kind == "text":
            return f"{member} != NULL && strcmp({member}, {quoted(str(value))}) == 0"
        if self.kind == "number":
            return f"{member} == {float(value).hex()}"
        if self.kind == "flag":
            return f"{member} == {int(value)}"
        # C has no literal for the smallest long long: `-` is an operator on a literal that overflows.
        return f"{member} == " + (f"({int(value) + 1}LL - 1)" if value == _LEAST_INTEGER else f"{int(value)}LL")


@dataclass(frozen=True, slots=True)
class Interface:
    """Names of a kernel's C functions and of their arguments.

    `members` are the C names of arrays, scalars and keywords. `selectors` are the dimensions, then other keywords that
    distinguish specializations of the same sizes.
    """

    name: str
    signature: KernelSignature
    entries: tuple[BundleEntry, ...]
    members: Mapping[str, str]
    selectors: tuple[Selector, ...]

    @property
    def dispatched(self) -> bool:
        """Whether the C program selects among specializations by sizes or other values."""
        return bool(self.selectors)

    @property
    def upper(self) -> str:
        """Prefix of the names of the kernel's C constants: `name` in upper case."""
        return self.name.upper()


def interface_of(name: str, signature: KernelSignature, entries: Sequence[BundleEntry]) -> Interface:
    """Return the interface of a kernel; raise BundleError for a keyword that is not a valid C name."""
    dimensions = signature.dimensions
    chosen = (*dimensions, *_differing(dimensions, entries))
    odd = next((keyword for keyword in (*dimensions, *entries[0].keywords) if not keyword.isascii()), None)
    if odd is not None:
        raise BundleError(f"{signature.name}: {odd!a} is not a valid C identifier", help="use an ASCII name")
    names = _member_names([*signature.tensors, *(row.name for row in signature.open), *chosen])
    selectors = tuple(Selector(key, names[key], _kind([entry.keywords[key] for entry in entries])) for key in chosen)
    return Interface(name, signature, tuple(entries), names, selectors)


def _differing(dimensions: Sequence[str], entries: Sequence[BundleEntry]) -> list[str]:
    """Return the keywords other than dimensions whose values differ between specializations with the same sizes."""
    groups: dict[tuple[Plain, ...], list[BundleEntry]] = {}
    for entry in entries:
        groups.setdefault(tuple(entry.keywords[name] for name in dimensions), []).append(entry)
    return [
        keyword
        for keyword in entries[0].keywords
        if keyword not in dimensions
        and any(entry.keywords[keyword] != group[0].keywords[keyword] for group in groups.values() for entry in group)
    ]


def _kind(values: Sequence[Plain]) -> str:
    if all(isinstance(value, bool) for value in values):
        return "flag"
    if all(isinstance(value, int) and _LEAST_INTEGER <= value <= _MOST_INTEGER for value in values):
        return "integer"
    if all(isinstance(value, int | float) and _is_double(value) for value in values):
        return "number"
    return "text"


def _is_double(value: float) -> bool:
    """Return whether a number is exactly representable as a C double."""
    return math.isfinite(value) and abs(value) < float(1 << 53) and float(value) == value


def _member_names(names: Iterable[str]) -> dict[str, str]:
    """Return the C name of each argument: its own name, with `_` appended if C or C++ reserves it.

    Reserved are the keywords of C99 and C++20, and predefined macros of compilers.
    """
    found, reserved = dict[str, str](), resource("reserved.txt").split()
    for own in dict.fromkeys(names):
        name = own + "_" if own in reserved else own
        while name in found.values():
            name += "_"
        found[own] = name
    return found


def resource(name: str) -> str:
    """Return the text of a file in the package's folder `c/`: a C template, or a list of reserved C names."""
    from importlib.resources import files

    return files("pyptx_bundles").joinpath("c", name).read_text(encoding="utf-8")


def quoted(text: str) -> str:
    """Return a C string literal in UTF-8, truncated to the length that every compiler accepts."""
    data = text.encode("utf-8", "surrogateescape")[:_LONGEST_WORDS]
    return '"' + "".join(_character(byte) for byte in data) + '"'


def _character(byte: int) -> str:
    """Return a byte as written in a C string literal; `?` is escaped because it may start a trigraph."""
    word = chr(byte)
    return f"\\{word}" if word in '"\\?' else word if " " <= word <= "~" else f"\\{byte:03o}"


def in_comment(text: str) -> str:
    """Return a text with a space inside each C comment delimiter, so that it cannot end a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *")


def spelt(keywords: Mapping[str, Plain]) -> str:
    """Return keyword values in Python call syntax, `B=16, N=512`, in ASCII."""
    return ", ".join(f"{name}={value!a}" for name, value in keywords.items())
