"""What to say about a name that is not declared: what kind of thing is missing, and where it may have been meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN, components
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.syntax.nodes import Label, RegisterDeclaration, Variable
from pyptx_ir.syntax.walk import walk as statements_of

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction, Statement

_NUMBERED = re.compile(r"(.*?)([0-9]+)\Z", re.DOTALL)


def undeclared(walk: Walk, node: Instruction, operand: int, name: str) -> Finding:
    """Compose the finding for operand number `operand` of `node`, in which the undeclared `name` stands."""
    opcode = node.opcode[0]
    if opcode in ("bra", "brx"):
        code, what = "undefined-label", "label"
    elif opcode == "call" and not name.startswith("%"):
        code, what = "undefined-function", "function"
    elif name.startswith("%"):
        code, what = "undefined-register", "register"
    else:
        code, what = "undefined-variable", "register or variable"
    hint, other = (_of_whole(walk, name), None) if "." in name else ("", None)
    if not hint:
        hint, other = _elsewhere(walk, name, what)
    message = f"'{name}' is not declared" if what != "label" else f"there is no label '{name}' here"
    return Finding(code, message, hint, operand=operand, word=name, other=other)


def _of_whole(walk: Walk, name: str) -> str:
    """Return what can be had of a register whose component is not there; nothing of what is no register."""
    base = name.partition(".")[0]
    kind = walk.scope[base]
    if kind is None or not kind or kind[0] in (UNDECLARED, UNKNOWN, "."):
        return ""
    length, vector, _ = kind.partition(".")
    if not vector:
        return f"'{base}' is a .{kind} register, which has no components; only those declared .v2 or .v4 have"
    listed = ", ".join(f"{base}.{component}" for component in components(int(length[1:]))[: int(length[1:])])
    return f"'{base}' is a .{length} register; its components are {listed}"


def _elsewhere(walk: Walk, name: str, what: str) -> tuple[str, int | None]:
    """Return a hint and the statement that it speaks of: where the name, or one like it, is declared."""
    at = _declared_in_function(walk, name)
    if at is not None and what == "label":
        return f"'{name}' at line {{line}} stands in another block: a branch leaves blocks, it never enters one", at
    if at is not None and at > walk.at:
        return "it is declared below, at line {line}: move the declaration up", at
    if at is not None:
        return "it is declared in another block, at line {line}: move the declaration out of it", at
    if what == "function":
        return f"declare it above this function: .extern .func {name} (…);", None
    found = _NUMBERED.match(name)
    ranges = walk.scope.range_of(found[1]) if found else None
    if found and ranges:
        count, at = ranges
        return f"'{found[1]}<{count}>' at line {{line}} declares {found[1]}0 to {found[1]}{count - 1}", at
    close = _close(walk, name)
    if close:
        return f"did you mean {close}?", None
    return {"label": f"put '{name}:' in front of an instruction of this function"}.get(
        what, f"declare it at the top of the function: .reg .b32 {name};"
    ), None


def _declared_in_function(walk: Walk, name: str) -> int | None:
    if walk.routine is None or walk.routine.node.body is None:
        return None
    for i, node in enumerate(statements_of(walk.routine.node.body)):
        if name in _declares(node):
            return walk.routine.at + 1 + i
    return None


def _declares(node: Statement) -> tuple[str, ...]:
    match node:
        case Label(name=name):
            return (name,)
        case RegisterDeclaration(names=names):
            return tuple(entry.name for entry in names if entry.count is None)
        case Variable(declarators=declarators):
            return tuple(entry.name for entry in declarators)
        case _:
            return ()


def _close(walk: Walk, name: str) -> str:
    import difflib  # only a wrong text pays for it

    known = walk.scope.visible() | set(special_registers())
    return " or ".join(difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.75))
