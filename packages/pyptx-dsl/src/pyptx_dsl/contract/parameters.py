"""Entry parameters: the syntax of `raw_params`, and the values that a call passes for them.

`type[.ptr][.space][.alignN][.palignN][.arrayN]`: `"u32"`, `"u64.ptr.global.palign16"`, `"b8.align64.array128"`.

`align` is the parameter's own alignment, `palign` that of the memory to which it points.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.contract.descriptors import descriptor_parameter
from pyptx_dsl.errors import KeywordError, SpecError, UnknownTypeError
from pyptx_dsl.registers.operands import as_float, as_integer, as_items
from pyptx_dsl.types import PtxType, from_name
from pyptx_ir.syntax.nodes import Parameter, Pointer
from pyptx_ir.syntax.operands import Immediate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyptx_ir.plugins.descriptor_rows import DescriptorKind

_SPACES = ("global", "shared", "local", "const", "param")
_PART = re.compile(r"(align|palign|array)(\d+)\Z")
_USUAL_TRIVIA = "\n\t"


@dataclass(frozen=True, slots=True)
class RawParameter:
    """A kernel parameter declared in `raw_params`: name, PTX type, state space, alignments, array length."""

    name: str
    type: PtxType
    pointer: Pointer | None = None
    alignment: int | None = None
    array: int | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether a call passes one number for the parameter; a pointer is passed as its address."""
        return self.array is None

    def declaration(self) -> Parameter:
        """Return the parameter's declaration in the PTX entry header."""
        dimensions = () if self.array is None else (Immediate(str(self.array)),)
        return Parameter(
            self.type.name, self.name, alignment=self.alignment, pointer=self.pointer, dimensions=dimensions
        )

    def value(self, given: object) -> int | float:
        """Return a call's value for the parameter; raise KeywordError if the parameter's type cannot represent it."""
        number: int | float | None = as_float(given) if self.type.is_float else as_integer(given)
        if number is None or not _fits(self.type, number):
            raise KeywordError(f"invalid value {given!r} of {self.name}, which is declared {self.type}")
        return number


def _fits(dtype: PtxType, number: float) -> bool:
    if dtype.is_float:
        return True
    low = 0 if dtype.kind == "unsigned" else -(1 << (dtype.bits - 1))
    high = 1 << (dtype.bits - 1 if dtype.kind == "signed" else dtype.bits)
    return low <= number < high


def parse_raw_parameters(declared: Sequence[tuple[str, str]]) -> tuple[RawParameter, ...]:
    """Return the parameters declared by `raw_params`; raise SpecError for the first invalid entry."""
    parsed = list[RawParameter]()
    entries = as_items(declared)
    if entries is None:
        raise SpecError(
            f"raw_params must be a list of (type, name) pairs, got {declared!r}", help='write pairs: [("u32", "n")]'
        )
    for entry in entries:
        match as_items(entry):
            case [str(word), str(name)]:
                parsed.append(_parse(word, name))
            case _:
                raise SpecError(f"raw_params: expected a (type, name) pair, got {entry!r}", help='write ("u32", "n")')
    return tuple(parsed)


def _parse(declared: str, name: str) -> RawParameter:
    word, *parts = declared.split(".")
    if not name.isidentifier() or not name.isascii():
        raise SpecError(f"raw_params: invalid parameter name {name!r}", help="use an ASCII identifier")
    try:
        dtype = from_name(word)
    except UnknownTypeError as error:
        raise SpecError(f"raw_params: {declared!r} does not start with a PTX type", help=error.help) from None
    if dtype.memory != dtype.name:
        raise SpecError(f"raw_params: a parameter cannot be .{dtype}", help=f"declare it .{dtype.memory}")
    space, values, is_pointer = None, dict[str, int](), False
    for part in parts:
        match = _PART.match(part)
        if part == "ptr":
            is_pointer = True
        elif part in _SPACES:
            space = part
        elif match:
            values[match[1]] = int(match[2])
        else:
            raise SpecError(f"raw_params: unknown word {part!r} in {declared!r}", help=(__doc__ or "").splitlines()[2])
    if not is_pointer and (space is not None or "palign" in values):
        raise SpecError(f"raw_params: {declared!r} has a state space or palign without ptr", help=f"write {word}.ptr.…")
    pointer = Pointer(space, values.get("palign", 1)) if is_pointer else None
    return RawParameter(name, dtype, pointer, values.get("align"), values.get("array"))


def entry_parameters(
    tensors: Sequence[str],
    raw: Sequence[RawParameter],
    descriptors: Iterable[tuple[str, DescriptorKind]],
    slots: str,
) -> tuple[Parameter, ...]:
    """Return the entry's parameters in order: tensor pointers, `raw_params`, descriptors of tensors."""
    pointers = [Parameter("u64", name) for name in tensors]
    described = [descriptor_parameter(name, kind, slots) for name, kind in descriptors]
    return (*pointers, *(parameter.declaration() for parameter in raw), *described)
