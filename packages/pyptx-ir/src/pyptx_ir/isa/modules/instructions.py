"""Check each instruction: its names, its guard, and its form in the instruction table."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from pyptx_ir.isa.check import judgement_on, out_of_range, verdict_by
from pyptx_ir.isa.constant_values import fault_of_integer
from pyptx_ir.isa.modules.addresses import fault_in, is_suspect
from pyptx_ir.isa.modules.diagnostic import ERROR
from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.known_forms import shape_number, vector_number
from pyptx_ir.isa.modules.placement import in_function
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN
from pyptx_ir.isa.modules.undeclared import undeclared
from pyptx_ir.isa.modules.wording import finding_of
from pyptx_ir.isa.shapes import literal_kind, shape_of
from pyptx_ir.syntax.operand_names import names_of
from pyptx_ir.syntax.operands import Address, Immediate, Index, Register, Symbol, Vector

if TYPE_CHECKING:
    from pyptx_ir.isa.check import Verdict
    from pyptx_ir.isa.modules.known_forms import FormKey
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Guard, Instruction
    from pyptx_ir.syntax.operands import Operand

# Opcodes without rows in the instruction table: the modules `calls` and `branches` check their operands, which depend
# on declarations.
BY_NAME = frozenset({"call", "brx"})


# Results of `_operand` that are not a `shape_number`: for a faulty operand, and for an operand that its shape does not
# fully describe.
_UNSOUND, _BY_ITSELF = -1, 0


def instruction(walk: Walk, node: Instruction) -> None:
    """Check one instruction: its guard, its names, and, if these are valid, its form in the instruction table.

    Most operands have occurred in this scope, and most combinations of opcode and shapes in this module. A known valid
    combination costs one lookup.
    """
    if walk.routine is None:
        in_function(walk, node)
        # An instruction outside a function has no scope in which its operands' names could be looked up.
        walk.sound = False
        return
    sound = node.guard is None or _guard(walk, node.guard)
    known = walk.scope.shapes
    numbers: list[int] = []
    for operand in node.operands:
        number = known.get(id(operand))
        if number is None:
            number = _operand(walk, node, len(numbers), operand)
            sound = sound and number != _UNSOUND
        numbers.append(number)
    if sound and walk.target is not None:
        key: FormKey = (node.opcode, walk.address_size, *numbers)
        choices = walk.right.get(key)
        if choices is None:
            sound = _is_right(walk, node, key)
        elif choices:
            sound = _obeys(walk, node, out_of_range(node, choices))
    walk.sound = sound


def _is_right(walk: Walk, node: Instruction, key: FormKey) -> bool:
    """Check an instruction, whose operands are valid by themselves, against the instruction table."""
    if walk.target is None or node.opcode[0] in BY_NAME:
        return True
    judgement = judgement_on(node, walk.scope.__getitem__, walk.target, walk.judged_version, walk.address_size)
    if judgement.diagnostic is None and _BY_ITSELF not in key:
        walk.right[key] = judgement.limits
    return _obeys(walk, node, verdict_by(judgement, node))


def _obeys(walk: Walk, node: Instruction, verdict: Verdict | None) -> bool:
    """Report a `Verdict`, if any, as a finding; return whether the instruction has no error."""
    if verdict is None:
        return True
    walk.report(finding_of(verdict, node.opcode))
    return verdict.severity != ERROR


def _operand(walk: Walk, node: Instruction, index: int, operand: Operand) -> int:
    """Check an operand's names and form; return its `shape_number`, or `_UNSOUND` or `_BY_ITSELF`."""
    if isinstance(operand, Register) and "." not in operand.name:
        number = walk.plain_names.get(walk.scope[operand.name], _BY_ITSELF)
    else:
        number = walk.literals.get(id(operand)) or _plain(walk, operand)
    if number:
        walk.scope.shapes[id(operand)] = number
        return number
    names = walk.names.get(id(operand))
    if names is None:
        names = walk.names[id(operand)] = names_of(operand)
    suspect = is_suspect(operand)
    if suspect and (fault := fault_in(node, index, operand)) is not None:
        walk.report(fault)
        return _UNSOUND
    sound, plain = True, not suspect
    for name in names:
        sound = _stands(walk, node, index, name) and sound
        plain = plain and walk.scope[name] is not None
    if sound and isinstance(operand, Index):
        sound = _is_of_array(walk, index, operand)
    if not sound:
        return _UNSOUND
    number = shape_number(shape_of(operand, walk.scope.__getitem__)) if plain else _BY_ITSELF
    if number:
        (walk.scope.shapes if names else walk.literals)[id(operand)] = number
    return number


def _plain(walk: Walk, operand: Operand) -> int:
    """Return the `shape_number` of an operand if its form is common and cannot be faulty, else `_BY_ITSELF`."""
    match operand:
        case Immediate():
            return _literal(operand.text)
        case Address():
            return _plain_address(walk, operand)
        case Symbol() if "." not in operand.name:
            return walk.plain_names.get(walk.scope[operand.name], _BY_ITSELF)
        case Vector():
            return _plain_vector(walk, operand)
        case _:
            return _BY_ITSELF


def _plain_address(walk: Walk, operand: Address) -> int:
    """Return the `shape_number` of an address, if its base is a scalar register or a variable, else 0."""
    base, offset = operand.base, operand.offset
    if not isinstance(base, Register | Symbol) or "." in base.name:
        return _BY_ITSELF
    if offset is not None and not (
        isinstance(offset, Immediate) and offset.text.isdecimal() and not fault_of_integer(offset.text)
    ):
        return _BY_ITSELF
    return walk.plain_addresses.get(walk.scope[base.name], _BY_ITSELF)


def _plain_vector(walk: Walk, operand: Vector) -> int:
    """Return the `shape_number` of a vector of scalar registers; 0 for any other vector."""
    scope = walk.scope
    kinds = tuple([scope[one.name] for one in operand.elements if isinstance(one, Register)])
    return vector_number(kinds) if len(kinds) == len(operand.elements) else _BY_ITSELF


@lru_cache(maxsize=1 << 14)
def _literal(text: str) -> int:
    """Return the `shape_number` of a literal; 0 if the literal may be invalid."""
    return _BY_ITSELF if is_suspect(Immediate(text)) else shape_number(("literal", literal_kind(text)))


def _stands(walk: Walk, node: Instruction, index: int, name: str) -> bool:
    """Return whether a name is declared in this scope; report an undeclared name."""
    kind = walk.scope[name]
    if kind is None:
        return _special(walk, name, index)
    if kind == UNDECLARED:
        missing = undeclared(walk, node, index, name)
        if missing is not None:
            walk.report(missing)
        walk.give_up_on(name)
        return False
    if kind == ".shared" and walk.routine is not None:
        walk.routine.shared.add(name)
    return kind != UNKNOWN


def _is_of_array(walk: Walk, index: int, operand: Index) -> bool:
    """Return whether the name before an index is an array; report any other name."""
    if not isinstance(operand.base, Register | Symbol):
        return True
    name = operand.base.name
    storage = walk.scope.storage_of(name)
    if storage is not None and storage.is_array:
        return True
    message, help = f"'{name}' is indexed but is not an array", "write variable+n, or declare an array"
    walk.report(Finding("operand-kind", message, help, operand=index, word=name))
    return False


def _guard(walk: Walk, guard: Guard) -> bool:
    kind = walk.scope[guard.register]
    if kind in ("pred", UNKNOWN):
        return True
    word = guard.register
    if kind == UNDECLARED:
        message = f"guard '{word}' is not declared"
        walk.report(Finding("undefined-register", message, f"declare it: .reg .pred {word};", word=word))
        walk.give_up_on(word)
    else:
        what = f".{kind} register " if kind and not kind.startswith(".") else ""
        message = f"guard must be a predicate register, got {what}'{word}'"
        help = "compute a predicate with setp.ne.u32 %p, …, 0 and guard with %p"
        walk.report(Finding("guard", message, help, word=word))
    return False


def _special(walk: Walk, name: str, operand: int) -> bool:
    """Reject a special register that the version or the target lacks."""
    finding = walk.early_registers.get(name)
    if finding is None:
        return True
    walk.report(Finding(finding.code, finding.message, finding.help, operand=operand, word=name))
    return False
