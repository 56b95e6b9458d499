"""Each instruction: its names, its guard, and what the instruction table has against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.check import verdict_on
from pyptx_ir.isa.modules.addresses import fault_in, is_suspect
from pyptx_ir.isa.modules.diagnostic import ERROR
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.operand_names import names_of
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN
from pyptx_ir.isa.modules.undeclared import undeclared
from pyptx_ir.isa.modules.wording import finding_of

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Guard, Instruction

# No row could describe them: what they take is in what their operands name. `calls` and `branches` look at the whole.
BY_NAME = frozenset({"call", "brx"})


def instruction(walk: Walk, node: Instruction) -> None:
    """Check one instruction: its guard, what its names stand for, and, if these are sound, ask the table."""
    if walk.routine is None:
        walk.sound = False  # whose names are these? `placement` has said so
        return
    sound = node.guard is None or _guard(walk, node.guard)
    scope, memo = walk.scope, walk.names
    for index, operand in enumerate(node.operands):
        names = memo.get(id(operand))
        if names is None:
            names = memo[id(operand)] = names_of(operand)
            if is_suspect(operand):
                walk.suspect.add(id(operand))
        if id(operand) in walk.suspect and (fault := fault_in(node, index, operand)) is not None:
            walk.report(fault)
            sound = False
        for name in names:
            kind = scope[name]
            if kind is None:
                sound = _special(walk, name, index) and sound
            elif kind == UNDECLARED:
                missing = undeclared(walk, node, index, name)
                if missing is not None:
                    walk.report(missing)
                walk.give_up_on(name)
                sound = False
            elif kind == UNKNOWN:
                sound = False
            elif kind == ".shared":
                walk.routine.shared.add(name)
    if sound and walk.target is not None and node.opcode[0] not in BY_NAME:
        verdict = verdict_on(node, scope.__getitem__, walk.target, walk.judged_version, walk.address_size)
        if verdict is not None:
            walk.report(finding_of(verdict, node.opcode))
            sound = verdict.severity != ERROR
    walk.sound = sound


def _guard(walk: Walk, guard: Guard) -> bool:
    kind = walk.scope[guard.register]
    if kind in ("pred", UNKNOWN):
        return True
    word = guard.register
    if kind == UNDECLARED:
        message = f"the guard '{word}' is not declared"
        walk.report(Finding("undefined-register", message, f"declare it: .reg .pred {word};", word=word))
        walk.give_up_on(word)
    else:
        what = f"a .{kind} register" if kind and not kind.startswith(".") else "none"
        message = f"a guard is a predicate register; '{word}' is {what}"
        hint = "compare it first: setp.ne.u32 %p, …, 0; then guard with %p"
        walk.report(Finding("guard", message, hint, word=word))
    return False


def _special(walk: Walk, name: str, operand: int) -> bool:
    """Refuse a special register that the version or the target lacks."""
    finding = walk.early_registers.get(name)
    if finding is None:
        return True
    walk.report(Finding(finding.code, finding.message, finding.hint, operand=operand, word=name))
    return False
