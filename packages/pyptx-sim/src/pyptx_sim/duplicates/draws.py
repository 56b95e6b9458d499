"""Random register contents, equal for equal value numbers, in `COUNT` register files.

They are fractions, small integers, a few numbers (so that inputs are equal to each other, and to constants of the
program) and numbers of all magnitudes; in half of the files, all numbers are of one kind. Eight consecutive files are a
group.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyptx_ir.syntax.operands import Immediate
from pyptx_sim.duplicates.numbers import mix
from pyptx_sim.literals import literal_bits, parse_literal
from pyptx_sim.types import B128, dtype_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_sim.duplicates.numbers import Numbers
    from pyptx_sim.operation import Array
    from pyptx_sim.program.program import Program

__all__ = ["COUNT", "Draws", "draws_of"]

COUNT: Final = 64
"""Number of register files."""

_CHOICES: Final = (7, 7, 7, 7, 0, 1, 3, 7)  # by group of register files: mask of the hash that chooses among few values
_FRACTIONS, _SMALL, _SPECIAL, _WIDE = range(4)
# By size in bytes: bits of some floats; for fractions and for all magnitudes, the lowest bits and a mask of random bits
# below the sign. A register may hold floats of any smaller size: none of them is NaN or an infinity, since one exponent
# bit of each byte is clear (`_finite`), and both halves of a 32-bit fraction are fractions.
_FLOATS: Final = (1.0, 0.0, -1.0, 2.0, 3.0, -2.0, 0.5, 4.0)
_FEW: Final = {size: np.array(_FLOATS, f"<f{size}").view(f"<u{size}").astype(np.uint64).tolist() for size in (2, 4, 8)}
_FRACTION: Final = {2: (0x3C00, 0x3FF), 4: (0x3F003C00, 0x00FF03FF), 8: (0x3FE0 << 48, (1 << 52) - 1)}
_MAGNITUDES: Final = {2: (0x3000, 0x17FF), 4: (0x37800000, 0x0FFFFFFF), 8: (0x3F00 << 48, (1 << 57) - 1)}
# Instructions whose literals are values that a program computes, too, not addresses or shift counts. `setp` is not one:
# a comparison with a literal that has the same result in all files gets random results (`Samples.limit`).
_VALUES: Final = frozenset({"mov", "selp", "set", "slct", "min", "max"})
# Sizes in bytes and bits of infinity; of e4m3, NaN.
_INFINITY: Final = {
    "e4m3": (1, 0x7F),
    "e5m2": (1, 0x7C),
    "f16": (2, 0x7C00),
    "bf16": (2, 0x7F80),
    "f32": (4, 0x7F800000),
    "f64": (8, 0x7FF0 << 48),
}


class Draws:
    """Random register contents for a program."""

    def __init__(self, program: Program) -> None:
        """Find the program's constants that are finite as floats of every type that it computes with."""
        words = {word.partition("x")[0] for site in program.sites for word in site.instruction.opcode}
        floats = [_INFINITY[word] for word in sorted(words & _INFINITY.keys())]
        found: dict[int, dict[int, None]] = {}
        for site in program.sites:
            for bits, size in _literals(site.instruction):
                if size in _FEW and all(_is_finite(bits, size, *each) for each in floats):
                    found.setdefault(size, {})[bits] = None
        self._constants = {size: list(each) for size, each in found.items()}

    def __call__(self, numbers: Numbers, index: int, dtype: np.dtype[Any]) -> Array:
        """Return the register contents for value numbers in file `index`: of one kind in every other file."""
        hashes, kind, group = mix(numbers, np.uint64(index)), index // 2 % 4, index // 8
        finite = hashes & _finite(group)
        if index % 2 == 0 or dtype in (np.bool_, B128):
            return self._of_kind(finite, kind, dtype, group)
        kinds = [self._of_kind(finite, each, dtype, group) for each in range(4)]
        return np.choose((mix(hashes) & np.uint64(3)).astype(np.int64), kinds)

    def _of_kind(self, hashes: Numbers, kind: int, dtype: np.dtype[Any], group: int) -> Array:
        """Return random numbers of a kind.

        From group 4 on, numbers of all magnitudes are positive, and a fourth of the magnitudes are in one group: so
        several are often all above a limit. Any two numbers are equal in some group (`_CHOICES`).
        """
        if dtype == np.bool_:
            return (hashes & np.uint64(1)).astype(np.bool_)
        if dtype == B128:
            both = np.empty(hashes.shape, B128)
            rotated = (hashes << np.uint64(32)) | (hashes >> np.uint64(32))
            both["lo"], both["hi"] = (
                self._of_kind(each, kind, np.dtype(np.uint64), group) for each in (hashes, rotated)
            )
            return both
        size, few = dtype.itemsize, np.uint64(_CHOICES[group])
        if kind == _SMALL or size not in _FEW:
            return (hashes & (few & np.uint64(3) if kind == _SMALL else np.uint64(0xFF))).astype(dtype)
        if kind == _SPECIAL:
            return self._few(size, group)[(hashes & few).astype(np.int64)].astype(dtype)
        lowest, random = (_FRACTION if kind == _FRACTIONS else _MAGNITUDES)[size]
        if kind == _WIDE and group >= 4:
            random, lowest = random >> 2, lowest + group % 4 * ((random + 1) >> 2)
            return (np.uint64(lowest) + (hashes & np.uint64(random))).astype(dtype)
        sign = (hashes >> np.uint64(63)) << np.uint64(8 * size - 1)
        return (sign | (np.uint64(lowest) + (hashes & np.uint64(random)))).astype(dtype)

    def _few(self, size: int, group: int) -> Numbers:
        """Return eight numbers; in half of the groups, four are constants of the program."""
        few, constants = np.array(_FEW[size], np.uint64), self._constants.get(size, ())
        if group % 2 == 0 and constants:
            few[::2] = [constants[(2 * group + each) % len(constants)] for each in range(4)]
        return few


draws_of = lru_cache(maxsize=4)(Draws)
"""Return the `Draws` of a program."""


def _finite(group: int) -> np.uint64:
    """Return a mask that clears bit 6, 5, 4 or 3 of each byte, all of them in the exponents of 8- and 16-bit floats."""
    return np.uint64(0xFFFF_FFFF_FFFF_FFFF ^ 0x0101_0101_0101_0101 << 6 - group % 4)


def _literals(instruction: Instruction) -> Iterator[tuple[int, int]]:
    """Yield bits and size in bytes of the literals of an instruction of `_VALUES`."""
    name, *words = instruction.opcode
    if name not in _VALUES:
        return
    for operand in instruction.operands:
        if isinstance(operand, Immediate):
            exact = literal_bits(operand.text)
            value = parse_literal(operand.text)
            if exact is not None:
                yield exact
            elif isinstance(value, int):
                size = dtype_of(words[-1]).itemsize
                yield value & ((1 << 8 * size) - 1), size


def _is_finite(bits: int, size: int, width: int, infinity: int) -> bool:
    """Return whether no float of `width` bytes in a constant is NaN or infinite."""
    parts = [bits >> 8 * low & infinity for low in range(0, size, width)]
    return infinity not in parts
