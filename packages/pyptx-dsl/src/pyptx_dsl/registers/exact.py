"""Operators inside `ptx.expr(temps=…)`: each emits one instruction into a register that the user names.

An operator writes the next temporary. If its result is assigned to a register immediately, `r[7] = a + b`, the
instruction writes that register instead, and the temporary stays free for the next operator. The temporaries are thus
the destinations of all instructions whose results have no other name, in order of emission. If the next temporary
cannot hold a result, the result must be assigned.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pyptx_dsl.errors import OperandError, SpellingError
from pyptx_dsl.registers.faults import no_temporary
from pyptx_dsl.registers.texts import text
from pyptx_dsl.types import as_type, from_name
from pyptx_ir.syntax.drafts import instruction
from pyptx_ir.syntax.nodes import Instruction
from pyptx_ir.syntax.operands import Register

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.origin import Site
    from pyptx_dsl.registers.register import Reg
    from pyptx_dsl.tracing.scope import Scope
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

EXACT = "ptx.expr.exact"
"""Key in `Trace.notes` under which the `Exact` of the innermost open `ptx.expr(temps=…)` is stored."""

_UNPLACED = "%_"
_OPERATIONS = frozenset(
    ["abs", "add", "and", "div", "max", "min", "mov", "mul", "neg", "not", "or", "rem", "shl", "shr", "sub", "xor"]
)
_RELATIONS = {
    **{relation: relation for relation in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"{relation}u": relation for relation in ("eq", "ne", "lt", "le", "gt", "ge")},
    "lo": "lt",
    "ls": "le",
    "hi": "gt",
    "hs": "ge",
}
"""Relation of `setp` (ordered, unordered or unsigned) -> name of the Python comparison."""


class Pending(NamedTuple):
    """Source text to apply to an operator's instruction after a possible assignment changes its destination."""

    spelling: str
    scope: Scope
    node: Instruction
    site: Site


class Exact:
    """State of one `ptx.expr(temps=…)`: the number of used temporaries and the last emitted instruction."""

    __slots__ = (
        *("_check", "_last", "_make_unplaced", "_pending", "_result", "_spelling", "_taken", "_temps", "_trace"),
        "_unplaced",
    )

    def __init__(
        self,
        trace: Trace,
        temps: Sequence[Reg],
        spelling: Mapping[PtxType, str],
        unplaced: Callable[[str, PtxType, Trace], Reg],
    ) -> None:
        """Store `temps`, parse `spelling`; `unplaced` creates a result that must be assigned to a register."""
        self._trace = trace
        self._make_unplaced = unplaced
        self._temps = tuple(temps)
        self._spelling = {as_type(dtype): spellings(text("spelling", opcodes)) for dtype, opcodes in spelling.items()}
        self._taken = 0
        self._last: Instruction | None = None
        self._result: Reg | None = None
        self._unplaced: Site | None = None
        self._check: Callable[[Instruction], None] = trace.check
        self._pending: Pending | None = None

    def spelled(self, operation: str, dtype: PtxType) -> tuple[str, ...] | None:
        """Return the opcode that `spelling` has for an operation on `dtype` registers; None if it has none."""
        of_type = self._spelling.get(dtype)
        if of_type is None:
            return None
        return of_type.get("div" if operation == "truediv" else operation)

    def emit(self, words: tuple[str, ...], operands: Sequence[object], dtype: PtxType, into: Reg | None = None) -> Reg:
        """Emit one instruction that writes `into` or, if None, the next register of `temps`; return the destination."""
        self._refuse_unplaced()
        self._spell_temporary()
        if into is not None:
            self._trace.emit(words, (into, *operands))
            self._last = self._result = None
            return into
        self._check, spelling = self._trace.check, self._trace.take_spelling()
        if self._taken < len(self._temps) and _fits(_written(words, dtype), self._temps[self._taken].dtype):
            result = self._temps[self._taken]
            self._taken += 1
            self._trace.emit(words, (result, *operands))
        else:
            result = self._emit_unplaced(words, operands, dtype)
        scope = self._trace.open_scope
        node = scope.nodes[-1]
        self._last, self._result = (node if isinstance(node, Instruction) else None), result
        if spelling is not None and self._last is not None:
            self._pending = Pending(spelling, scope, self._last, scope.sites[-1])
        return result

    def compute(self, words: tuple[str, ...], operands: Sequence[object], guard: object) -> Reg:
        """Emit an instruction written with `...` as its destination: it writes the next register of `temps`."""
        self._refuse_unplaced()
        self._spell_temporary()
        if self._taken == len(self._temps):
            raise no_temporary(otherwise="write the destination instead of ...")
        result = self._temps[self._taken]
        self._taken += 1
        self._trace.emit(words, (result, *operands), guard)
        self._last = self._result = None
        return result

    def assign(self, destination: Reg, value: object) -> bool:
        """If `value` is the last instruction's result, change its destination to `destination`; else return False."""
        scope, node = self._trace.open_scope, self._last
        if value is not self._result or node is None or not scope.nodes or scope.nodes[-1] is not node:
            self._refuse_unplaced()
            self._spell_temporary()
            return False
        operands = (destination.__ptx_operand__(self._trace), *node.operands[1:])
        placed = instruction(node.opcode, operands, node.guard, node.leading_trivia)
        declared, written = self._trace.checker.declared, node.operands[0]
        held = declared.get(written.name) if isinstance(written, Register) else None
        if held != declared.get(destination.raw_name):
            self._check(placed)
        if destination.slot is not None:
            destination.slot.written()
        scope.nodes[-1] = placed
        self._taken -= self._unplaced is None
        pending, self._pending = self._pending, None
        self._last = self._result = self._unplaced = None
        if pending is not None:
            scope.spell(placed, pending.spelling)
        return True

    def close(self) -> None:
        """Raise OperandError for a result without a destination register, and for unused registers of `temps`."""
        self._refuse_unplaced()
        self._spell_temporary()
        left = [register.raw_name for register in self._temps[self._taken :]]
        if left:
            raise OperandError(
                f"ptx.expr has unused temporaries: {', '.join(left)}",
                help="pass one temporary for each operator, in the order of emission, except for assigned results",
            )

    def _emit_unplaced(self, words: tuple[str, ...], operands: Sequence[object], dtype: PtxType) -> Reg:
        """Emit an instruction with a placeholder destination, which the following assignment must replace."""
        trace = self._trace
        kind = _written(words, dtype)
        trace.checker.declared[_UNPLACED] = kind
        trace.emit(words, (Register(_UNPLACED), *operands))
        self._unplaced = trace.open_scope.sites[-1]
        return self._make_unplaced(_UNPLACED, from_name(kind), trace)

    def _refuse_unplaced(self) -> None:
        if self._unplaced is not None:
            raise no_temporary(self._trace.recorder.where(self._unplaced))

    def _spell_temporary(self) -> None:
        """Apply the pending source text to the last instruction, whose destination no assignment has changed."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            pending.scope.spell(pending.node, pending.spelling)
        except SpellingError as error:
            where = self._trace.recorder.where(pending.site)
            raise SpellingError(error.message, where=where, help=error.help) from None


def _written(words: tuple[str, ...], dtype: PtxType) -> str:
    """Return the type of the register that an instruction with operands of type `dtype` writes."""
    if words[0] == "setp":
        return "pred"
    return f"{dtype.checked[0]}{2 * dtype.bits}" if "wide" in words else dtype.checked


@lru_cache(maxsize=256)
def _fits(written: str, temporary: PtxType) -> bool:
    """Return whether a `temporary` register can hold a `written` result: equal width, both or neither predicates."""
    kind = from_name(written)
    if kind.bits != temporary.bits or (kind.kind == "pred") != (temporary.kind == "pred"):
        return False
    return kind.is_float == temporary.is_float or temporary.kind == "bits"


@lru_cache(maxsize=64)
def spellings(opcodes: str) -> dict[str, tuple[str, ...]]:
    """Return operator name -> opcode for the opcodes in a text; raise OperandError if no operator emits an opcode."""
    found = dict[str, tuple[str, ...]]()
    for opcode in opcodes.split():
        operation = operation_of(opcode)
        if operation is None:
            raise OperandError(
                f"spelling: no operator emits {opcode!r}", help="write opcodes such as 'add.s32 setp.lt.s32'"
            )
        if operation in found:
            raise OperandError(
                f"spelling: {'.'.join(found[operation])!r} and {opcode!r} are opcodes of the same operator",
                help="pass one opcode for each operator",
            )
        found[operation] = tuple(opcode.split("."))
    return found


@lru_cache(maxsize=1024)
def operation_of(opcode: str) -> str | None:
    """Return the operator name of an opcode (for `setp`, its relation); None if no operator emits the opcode."""
    first, _, rest = opcode.partition(".")
    if first == "setp":
        return _RELATIONS.get(rest.partition(".")[0])
    return first if first in _OPERATIONS else None
