"""Short names for long opcodes: `ldmatrix_m8n8_x4 = ptx.inst.ldmatrix.sync.aligned.m8n8.x4.shared.b16`."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.syntax import nodes
from pyptx_transpile.printing.body_printer import opcode
from pyptx_transpile.printing.layout import WIDTH, Bracketed, lines
from pyptx_transpile.reading.names import identifier

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from pyptx_transpile.reading.rows import Row

__all__ = ["form_lines", "named_forms"]

Opcode: TypeAlias = "tuple[str, ...]"
_LONG = 48  # minimum columns of a `ptx.inst.…` whose opcode gets a short name
_SHORTER = 16  # minimum columns that an opcode's short name saves at each call
_LEAST = 2  # minimum uses in a module of an opcode with a short name
_FIRST = 3  # minimum number of opcode parts in a short name
_SHAPE = re.compile(r"m\d+n\d+(?:k\d+)?\Z", re.ASCII)
_UNSAID = frozenset({"sync", "aligned", "row", "col"})
_TMA = ("cp", "async", "bulk", "tensor")
_TMA_WAYS = {"shared::cluster": "load", "shared::cta": "load", "global": "store"}
"""Direction in the names of TMA copies, by destination state space."""


def named_forms(row: Row, *taken: Container[str]) -> dict[Opcode, str]:
    """Return short names for the long opcodes that a module uses at least twice, in module order."""
    counts = Counter(item.node.opcode for item in row.items if isinstance(item.node, nodes.Instruction))
    forms = [form for form, count in counts.items() if count >= _LEAST and len(opcode(form)) >= _LONG]
    found: dict[Opcode, str] = {}
    for form in forms:
        name = identifier(_name(form, [each for each in forms if each != form]), set(found.values()), *taken)
        if len(name) + _SHORTER <= len(opcode(form)):
            found[form] = name
    return found


def _name(form: Opcode, others: Iterable[Opcode]) -> str:
    """Return a short name: mnemonic, matrix shape and as many tokens as distinguish the opcode from the others."""
    words, names = _words(form), [_words(each) for each in others]
    for count in range(_FIRST, len(words) + 1):
        if all(each[:count] != words[:count] for each in names):
            return "_".join(words[:count])
    return "_".join(words)


def _words(form: Opcode) -> list[str]:
    if form[:4] == _TMA and form[5] in _TMA_WAYS:  # "tma_load": the usual term for this form of cp.async.bulk.tensor
        return ["tma", _TMA_WAYS[form[5]], *map(_plain, (form[4], *form[6:]))]
    shapes = [word for word in form if _SHAPE.match(word)]
    rest = [word for word in form[1:] if word not in _UNSAID and word not in shapes]
    return [form[0], *shapes, *map(_plain, rest)]


def _plain(word: str) -> str:
    return word.replace("::", "_").replace(".", "_")


def form_lines(forms: Mapping[Opcode, str]) -> list[str]:
    """Return the Python lines that define the short names of opcodes."""
    found: list[str] = []
    for form, name in forms.items():
        whole = f"{name} = {opcode(form)}"
        found += [whole] if len(whole) <= WIDTH else lines(Bracketed("", opcode(form)), 0, f"{name} = ")
    return found
