"""Reference for equality of modules: names are numbered in the order of their first use, then texts are compared.

Unlike `compare`, this reference identifies a name by its text, per function and in source order. That is sufficient for
a module and its mutant.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax import spell, walk
from pyptx_ir.syntax.spelling import header

from .names import labels, memory, registers, usual

WORD = re.compile(r"[%$\w]+(?:(?<=\w)\.[xyzw])?")
Canonical: TypeAlias = list[tuple[str, ...]]
_LISTS = n.BranchTargets | n.CallTargets | n.CallPrototype


def canonical(module: n.Module) -> Canonical:
    """Return the comparable form of a module: one tuple of texts for each function and each other statement."""
    return [
        _function(node) if isinstance(node, n.Function) else (spell(node),)
        for node in module.body
        if not isinstance(node, n.File | n.Section)
    ]


def _function(function: n.Function) -> tuple[str, ...]:
    types = {name: f"{like.vector}.{like.type}.{like.alignment}" for name, like in registers(function).items()}
    types |= dict.fromkeys((*labels(function), *memory(function)), "")
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        base, dot, selector = found[0].partition(".")
        name = usual(base) if base not in types else base
        if name not in types:
            return found[0]
        return numbers.setdefault(name, f"<{len(numbers)}:{types[name]}>") + dot + selector

    statements = [
        node
        for node in walk(function)
        if isinstance(node, n.Instruction | n.Label | n.Variable | n.Pragma | n.Directive | _LISTS)
    ]
    referred = {word for node in statements if not isinstance(node, n.Label) for word in WORD.findall(spell(node))}
    referred |= {word for one in statements if isinstance(one, n.BranchTargets) for word in one.targets}
    texts = [spell(node) for node in statements if not isinstance(node, n.Label) or node.name in referred]
    return tuple([WORD.sub(numbered, text) for text in (header(function), *texts)])
