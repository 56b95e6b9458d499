"""Call graph of linked modules; an indirect call may reach every function whose address is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax.operands import CallList, Symbol
from pyptx_sim.program.params import instructions_of, symbols_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_ir.syntax.nodes import Function, Instruction
    from pyptx_ir.syntax.operands import Operand
    from pyptx_sim.program.linking import Linked


class CallGraph:
    """Calls between the functions of linked modules; functions are identified by their keys in `Linked.functions`."""

    def __init__(self, linked: Linked) -> None:
        """Collect every call, and every function whose address is taken."""
        self._called: dict[str, set[str]] = {}
        self._indirect: set[str] = set()
        self._taken = self._taken_by_variables(linked)
        for function in linked.functions.values():
            self._read(function.node, linked.keys[function.module])

    @staticmethod
    def _taken_by_variables(linked: Linked) -> set[str]:
        taken: set[str] = set()
        for module, variable in linked.variables:
            names = (name for each in variable.declarators for name in symbols_of(each.initializer))
            taken.update(linked.keys[module][name] for name in names if name in linked.keys[module])
        return taken

    def _read(self, function: Function, keys: Mapping[str, str]) -> None:
        called = self._called.setdefault(function.name, set())
        if function.body is None:
            return
        for instruction in instructions_of(function.body):
            names = {name for operand in instruction.operands for name in symbols_of(operand)}
            found = {keys[name] for name in names if name in keys}
            if instruction.opcode[0] != "call":
                self._taken |= found
                continue
            callee = callee_of(instruction)
            direct = keys.get(callee.name) if isinstance(callee, Symbol) else None
            if direct is not None:
                called.add(direct)
            else:
                self._indirect.add(function.name)

    def callees(self, name: str) -> set[str]:
        """Return the functions that `name` may call."""
        taken = self._taken if name in self._indirect else set[str]()
        return self._called.get(name, set()) | taken

    def reachable_from(self, entry: str) -> tuple[str, ...]:
        """Return all functions that `entry` may call, directly or not, and all whose address is taken; `entry` is last.

        Callees precede their callers.
        """
        order: list[str] = []
        seen: set[str] = {entry}
        stack = [(entry, iter(sorted(self.callees(entry) | self._taken)))]
        while stack:
            name, rest = stack[-1]
            callee = next(rest, None)
            if callee is None:
                order.append(name)
                stack.pop()
            elif callee not in seen:
                seen.add(callee)
                stack.append((callee, iter(sorted(self.callees(callee)))))
        return tuple(order)

    def is_recursive(self, name: str) -> bool:
        """Return whether a call of `name` may lead to another call of `name` before it returns."""
        seen: set[str] = set()
        rest = list(self.callees(name))
        while rest:
            callee = rest.pop()
            if callee == name:
                return True
            if callee not in seen:
                seen.add(callee)
                rest.extend(self.callees(callee))
        return False

    def deepest(self, entry: str, sizes: dict[str, int]) -> int | None:
        """Return the largest sum of `sizes` (by function) along any chain of calls from `entry`; None if recursive."""
        order = self.reachable_from(entry)
        if any(self.is_recursive(name) for name in order):
            return None
        depth: dict[str, int] = {}
        for name in order:
            depth[name] = sizes[name] + max((depth[callee] for callee in self.callees(name)), default=0)
        return depth[entry]


def callee_of(instruction: Instruction) -> Operand:
    """Return the operand of a `call` that is the callee's name or register: the first operand without parentheses."""
    return next(operand for operand in instruction.operands if not isinstance(operand, CallList))
