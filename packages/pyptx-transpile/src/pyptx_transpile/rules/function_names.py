"""Names of helper functions, derived from their most significant instructions: `mbarrier_try_wait`."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pyptx_dsl.types import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.syntax import nodes

__all__ = ["docstring", "main", "stem"]

# Mnemonics that a helper function is rarely named after, the least characteristic first; unlisted mnemonics are
# preferred.
_RANKS: tuple[frozenset[str], ...] = (
    frozenset({"mov", "cvt", "cvta", "setp", "selp", "bra", "call", "ret"}),
    frozenset({"add", "addc", "sub", "subc", "and", "or", "xor", "not", "neg", "shl", "shr", "mul", "mad", "shf"}),
    frozenset({"ld", "st", "fma", "min", "max", "abs", "lop3", "prmt", "bfe", "bfi", "div", "rem"}),
)
_MOST_WORDS = 3
_WIDEST = 100  # maximum columns of a helper function's docstring that lists all of its instructions
_SHAPE = re.compile(r"m\d+n\d+k\d+\Z", re.ASCII)
_UNSAID = frozenset({"sync", "aligned", "lo", "wide", "cc", "rn", "rz", "parity", "v2", "v4", "v8"})


def _rank(node: nodes.Instruction) -> int:
    return next((rank for rank, names in enumerate(_RANKS) if node.opcode[0] in names), len(_RANKS))


def main(instructions: Sequence[nodes.Instruction]) -> int:
    """Return the index of the most significant instruction: the most frequent opcode of the highest `_rank`."""
    highest = max(map(_rank, instructions))
    counts = Counter([node.opcode for node in instructions if _rank(node) == highest])
    most = max(counts, key=lambda opcode: counts[opcode])
    return next(at for at, node in enumerate(instructions) if node.opcode == most)


def stem(instructions: Sequence[nodes.Instruction]) -> str:
    """Return a helper's name: its most significant instruction; without one, its most frequent instructions."""
    one = instructions[main(instructions)]
    if _rank(one) == len(_RANKS):
        return _name(one)
    telling = [node for node in instructions if _rank(node)] or instructions
    most = [name for name, _ in Counter(map(_short, telling)).most_common(_MOST_WORDS)]
    names = list(dict.fromkeys([name for name in map(_short, telling) if name in most]))
    return "_".join([*names, *one.opcode[-1:]] if len(names) == 1 else names)


def _short(node: nodes.Instruction) -> str:
    """Return the mnemonic of an instruction, with the state space for loads and stores."""
    words = [word.partition("::")[0] for word in node.opcode[:2]]
    return "_".join(words) if words[0] in {"ld", "st"} and len(words) > 1 and words[1] not in BY_NAME else words[0]


def _name(node: nodes.Instruction) -> str:
    words = [node.opcode[0]]
    for word in node.opcode[1:]:
        if len(words) == _MOST_WORDS or word in BY_NAME or ":" in word:
            break
        words += [] if word in _UNSAID else [word]
    shape = next((word for word in node.opcode if _SHAPE.match(word)), None)
    return "_".join(words if shape is None else [words[0], shape])


def docstring(instructions: Sequence[nodes.Instruction]) -> str:
    """Return the docstring of a helper function: the instructions that it emits, or their number."""
    names = list(dict.fromkeys([".".join(node.opcode) for node in instructions]))
    all_of_them = f"Emit {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}."
    if len(instructions) == len(names) and len(all_of_them) <= _WIDEST:
        return all_of_them
    first = ".".join(instructions[main(instructions)].opcode)
    return f"Emit {len(instructions)} instructions, {first} among them."
