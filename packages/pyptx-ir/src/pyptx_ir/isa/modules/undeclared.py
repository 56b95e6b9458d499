"""Findings for undeclared names: the kind of declaration that is missing, and a similar declared name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN, components, split_number
from pyptx_ir.isa.special_registers import special_registers
from pyptx_ir.suggestions import close_names
from pyptx_ir.syntax.nodes import Label, RegisterDeclaration, Variable
from pyptx_ir.syntax.walk import walk as statements_of

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Instruction, Statement

# Maximum findings per function and stem (`%r` of `%r7`) for undeclared numbered names: one missing declaration causes
# all of them.
MOST_OF_A_BANK = 8
# Maximum number of undeclared names for which similar names are suggested; more of them are not misspellings.
MOST_SUGGESTIONS = 8


def undeclared(walk: Walk, node: Instruction, operand: int, name: str) -> Finding | None:
    """Return the finding for the undeclared `name` in operand number `operand` of `node`.

    None if it is one of many numbered names, the first few of which have been reported.
    """
    stem, number = split_number(name) or (name, -1)
    more = ""
    if number >= 0 and walk.routine is not None and walk.scope.range_of(stem) is None:
        walk.routine.unbanked[stem] += 1
        if walk.routine.unbanked[stem] > MOST_OF_A_BANK:
            return None
        if walk.routine.unbanked[stem] == MOST_OF_A_BANK:
            more = f"; further undeclared names {stem}0, {stem}1, … of this function are not reported"
    finding = _composed(walk, node, operand, name)
    return replace(finding, help=finding.help + more) if more else finding


def _composed(walk: Walk, node: Instruction, operand: int, name: str) -> Finding:
    opcode = node.opcode[0]
    if opcode in ("bra", "brx"):
        code, what = "undefined-label", "label"
    elif opcode == "call" and not name.startswith("%"):
        code, what = "undefined-function", "function"
    elif name.startswith("%"):
        code, what = "undefined-register", "register"
    else:
        code, what = "undefined-variable", "register or variable"
    help, other = (_of_whole(walk, name), None) if "." in name else ("", None)
    if not help:
        help, other = _elsewhere(walk, name, what)
    message = f"'{name}' is not declared" if what != "label" else f"label '{name}' is not in scope"
    return Finding(code, message, help, operand=operand, word=name, other=other)


def _of_whole(walk: Walk, name: str) -> str:
    """Return help for a missing component of a register: its existing components; empty for a name of another kind."""
    base = name.partition(".")[0]
    kind = walk.scope[base]
    if kind is None or not kind or kind[0] in (UNDECLARED, UNKNOWN, "."):
        return ""
    length, vector, _ = kind.partition(".")
    if not vector:
        return f"declare '{base}' .v2 or .v4: it is a scalar .{kind} register without components"
    listed = ", ".join(f"{base}.{component}" for component in components(int(length[1:]))[: int(length[1:])])
    return f"use {listed}, the components of the .{length} register '{base}'"


def _elsewhere(walk: Walk, name: str, what: str) -> tuple[str, int | None]:
    """Return help and the statement that it refers to: the declaration of the name, or of a similar name."""
    at = _declared_in_function(walk, name)
    if at is not None and what == "label":
        return f"move '{name}' (line {{line}}) out of its block: a branch cannot enter a block", at
    if at is not None and at > walk.at:
        return "move the declaration (line {line}) before this line", at
    if at is not None:
        return "move the declaration (line {line}) to a block that encloses this line", at
    if what == "function":
        return f"declare the function before this one: .extern .func {name} (…);", None
    stem, _ = split_number(name) or ("", 0)
    bank = walk.scope.range_of(stem) if stem else None
    if bank:
        count, at = bank
        return (
            f"increase the count of '{stem}<{count}>' (line {{line}}), which declares {stem}0 to {stem}{count - 1}",
            at,
        )
    close = _close(walk, name)
    if close:
        return f"did you mean {close}?", None
    return {"label": f"put '{name}:' before an instruction of this function"}.get(
        what, f"declare the name at the top of the function: .reg .b32 {name};"
    ), None


def _declared_in_function(walk: Walk, name: str) -> int | None:
    routine = walk.routine
    if routine is None or routine.node.body is None:
        return None
    if routine.declared is None:
        routine.declared = {}
        for at, node in enumerate(statements_of(routine.node.body), routine.at + 1):
            for declared in _declares(node):
                routine.declared.setdefault(declared, at)
    return routine.declared.get(name)


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
    if walk.suggestions == MOST_SUGGESTIONS:
        return ""
    walk.suggestions += 1
    known = walk.scope.visible() | set(special_registers())
    return " or ".join(close_names(name, sorted(known), most=2, cutoff=0.75))
