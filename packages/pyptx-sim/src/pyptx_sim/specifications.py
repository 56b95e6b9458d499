"""Command-line syntax of arguments, for `pyptx sim --arg`.

    f32[64,32]=random      array: zeros, ones, arange, random, empty (uninitialized), a number, or a file
    x.npy                  array in NumPy's file format; any other file: its bytes
    42  1.5  0x10          number of the parameter's type
    s32=42                 number of an explicit type, for members of structures
    (f32[8]=zeros, s32=8)  structure with C layout
    f32[64,32]=zeros@CLASS(key=value,…)
                           array passed by a descriptor, of a class that a plugin provides
    x:f32[8]               any of these, named x

Random arrays are the same in every run: normally distributed, or integers from 0 to 99; ue8m0: 2^-8 to 2^8.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from pyptx_ir.element_types import BY_NAME
from pyptx_sim.errors import LaunchError
from pyptx_sim.extension.registry import offered
from pyptx_sim.literals import parse_literal
from pyptx_sim.numerics.formats import HALVES
from pyptx_sim.numerics.minifloats import MINIFLOATS, encode
from pyptx_sim.values import Uninitialized, WithDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyptx_ir.element_types import ElementType
    from pyptx_sim.operation import Array
    from pyptx_sim.values import Argument

_NAMED = re.compile(r"([A-Za-z_]\w*):(?!\\)(.+)", re.DOTALL)
_ARRAY = re.compile(r"(\w+)\[([\d,x ]+)\](?:=([^@]+))?(?:@(\w+)\((.*)\))?")
_TYPED = re.compile(r"(\w+)=(.+)")
_NUMBER = re.compile(r"-?(0[xXbB][\da-fA-F]+|\d[\d.]*([eE][-+]?\d+)?)")
_SEPARATORS = re.compile(r"[,x]")
_HELP: Final = "pass f32[64,32]=random, x.npy, 42, s32=42 or (f32[8]=zeros, s32=8); see pyptx sim --help"


@dataclass(slots=True)
class ParsedArguments:
    """Parsed `--arg` values: `values` in order with their names, and all arrays, including nested ones, by name."""

    values: list[Argument] = field(default_factory=list["Argument"])
    names: list[str] = field(default_factory=list[str])
    arrays: dict[str, Array] = field(default_factory=dict[str, "Array"])


def arguments(texts: list[str], names: list[str]) -> ParsedArguments:
    """Parse the `--arg` texts for parameters called `names`; LaunchError for an invalid text."""
    found, random = ParsedArguments(), np.random.default_rng(0)
    for number, text in enumerate(texts):
        reader = _SpecificationReader(random, found.arrays)
        name, said = _named(text.strip(), names[number] if number < len(names) else str(number))
        found.values.append(reader.value(said, name))
        found.names.append(name)
    return found


def _named(text: str, name: str) -> tuple[str, str]:
    """Split `name:value`; return the name, None without one, and the text of the value."""
    named = _NAMED.fullmatch(text)
    return (name, text) if named is None or Path(text).exists() else (named[1], named[2])


@dataclass(frozen=True, slots=True)
class _SpecificationReader:
    random: np.random.Generator
    arrays: dict[str, Array]

    def value(self, text: str, name: str, *, member: bool = False) -> Argument:
        if text.startswith("(") and text.endswith(")"):
            return dict(self._members(text[1:-1], name))
        array = _ARRAY.fullmatch(text)
        if array is not None:
            return self._array(name, *array.groups())
        if _NUMBER.fullmatch(text) and not member:
            return parse_literal(text)
        typed = _TYPED.fullmatch(text)
        if typed is not None and typed[1] in BY_NAME:
            return cast("np.generic", _elements(BY_NAME[typed[1]], np.array(_number(typed[2])))[()])
        return self._file(Path(text), name)

    def _members(self, text: str, name: str) -> Iterator[tuple[str, Argument]]:
        for number, part in enumerate(_split(text)):
            called, said = _named(part, "")
            yield called or str(number), self.value(said, called or f"{name}.{number}", member=True)

    def _file(self, path: Path, name: str) -> Argument:
        if not path.is_file():
            raise LaunchError(f"invalid argument {str(path)!r}: not a value, and no such file", help=_HELP)
        if path.suffix != ".npy":
            return path.read_bytes()
        self.arrays[name] = array = cast("Array", np.load(path))
        return array

    def _array(self, name: str, kind: str, shape: str, filling: str | None, described: str | None, by: str) -> Argument:
        if kind not in BY_NAME:
            raise LaunchError(f"unknown element type {kind!r}", help=f"use one of: {', '.join(BY_NAME)}")
        extents = tuple(int(extent) for extent in _SEPARATORS.split(shape.replace(" ", "")) if extent)
        filling = filling or "empty"
        array = self.arrays[name] = self._filled(BY_NAME[kind], extents, filling.strip())
        if described is not None:
            return WithDescriptor(array, _descriptor(described, by, array, kind), uninitialized=filling == "empty")
        return Uninitialized(array) if filling == "empty" else array

    def _filled(self, row: ElementType, shape: tuple[int, ...], filling: str) -> Array:
        ways: dict[str, Callable[[], Array]] = {
            "zeros": lambda: np.zeros(shape),
            "empty": lambda: np.zeros(shape),
            "ones": lambda: np.ones(shape),
            "arange": lambda: cast("Array", np.arange(math.prod(shape)).reshape(shape)),
            "random": lambda: self._random(row, shape),
        }
        if filling == "random" and row.name == "ue8m0":  # an exponent plus 127 (PTX ISA, alternate floating-point)
            return self.random.integers(119, 136, shape, dtype=np.uint8)
        if filling in ways:
            return _elements(row, ways[filling]())
        if _NUMBER.fullmatch(filling):
            return _elements(row, np.full(shape, parse_literal(filling)))
        path = Path(filling)
        if not path.is_file():
            raise LaunchError(f"invalid array contents {filling!r}", help=f"use {', '.join(ways)}, a number or a file")
        loaded = cast("Array", np.load(path)) if path.suffix == ".npy" else np.fromfile(path, _dtype(row))
        return np.ascontiguousarray(loaded.view(_dtype(row)) if loaded.dtype.kind == "V" else loaded).reshape(shape)

    def _random(self, row: ElementType, shape: tuple[int, ...]) -> Array:
        floats = row.kind == "float"
        return self.random.standard_normal(shape) if floats else self.random.integers(0, 100, shape)


def _dtype(row: ElementType) -> np.dtype[Any]:
    """Return the storage dtype of an element type: NumPy's, or an unsigned integer for types that NumPy lacks."""
    return np.dtype(row.array if hasattr(np, row.array) else f"u{row.bytes}")


def _elements(row: ElementType, values: Array) -> Array:
    """Return the numbers `values` as stored elements of a type, rounded to nearest."""
    if row.name == "bf16":
        return HALVES["bf16"].narrow(values.astype(np.float64))
    if row.name in MINIFLOATS:
        return encode(values.astype(np.float32), MINIFLOATS[row.name])
    if not hasattr(np, row.array):
        raise LaunchError(f"no conversion of numbers to .{row.name}", help="pass the numbers' bits as an array of u8")
    return values.astype(_dtype(row))


def _number(text: str) -> int | float:
    if not _NUMBER.fullmatch(text):
        raise LaunchError(f"expected a number, got {text!r}", help=_HELP)
    return parse_literal(text)


def _descriptor(kind: str, said: str, array: Array, dtype: str) -> object:
    """Return a descriptor of `array`: the result of method `of` of the class named `kind`."""
    described: Any = offered(kind)
    if described is None:
        raise LaunchError(
            f"no plugin provides descriptor {kind}", help="install the package of the descriptor's architecture"
        )
    pairs = [part.strip().partition("=") for part in said.split(",") if part.strip()]
    try:
        return cast("object", described.of(array, dtype=dtype, **{key: _word(each) for key, _, each in pairs}))
    except TypeError as error:
        raise LaunchError(f"{kind}({said}): {error}", help=f"use the keywords of {kind}.of") from error


def _word(text: str) -> str | int | tuple[int, ...]:
    """Parse the value of a descriptor field: sizes (`64x64`), an integer, or a word."""
    if re.fullmatch(r"\d+(x\d+)+", text):
        return tuple(int(size) for size in text.split("x"))
    return int(text) if text.isdecimal() else text


def _split(text: str) -> Iterator[str]:
    """Yield the parts of `text` between commas that are outside all brackets."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    if text[start:].strip():
        yield text[start:].strip()
