"""Shapes of statements: all properties except leaf operands (registers, numbers and symbols).

Statements of one shape have equally many leaves, in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_ir.values import Value, value
from pyptx_transpile.reading.names import numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from pyptx_transpile.reading.rows import Body

NUMBER, SYMBOL = "number", "symbol"
_FIXED = frozenset({"bra", "brx", "call"})  # opcodes of instructions whose symbol operands are labels and functions


@value
class Declared(Value):
    """Declaration of a register: its group's name and its index in the group, or its own name and None; its type.

    `at` is the index of the declaration; `is_inner`: whether it is in a scope inside the body.
    """

    name: str
    number: int | None
    type: str
    at: int
    is_inner: bool


@value
class Leaf(Value):
    """A register, number or symbol of the instruction at index `at`; `number` is its operand index, None for a guard.

    `type` is the register's type, `NUMBER` or `SYMBOL`. `opcode` determines how numbers are printed; it is empty in
    addresses.
    """

    type: str
    operand: tree.Register | tree.Symbol | tree.Immediate
    at: int
    number: int | None
    opcode: tuple[str, ...]
    declared: Declared | None = None


class Names:
    """Declared registers of a body, and the symbols that its scopes declare."""

    def __init__(self, body: Body) -> None:
        """Collect the declarations of a body."""
        self.body = body
        self._root = body.start - 1
        self._registers: defaultdict[int, dict[str, tuple[str, int | None, int]]] = defaultdict(dict)
        self._symbols: defaultdict[int, set[str]] = defaultdict(set)
        self._known: defaultdict[int, dict[str, Declared | None]] = defaultdict(dict)
        for at in range(body.start, body.end):
            match body.items[at].node:
                case nodes.RegisterDeclaration(type=kind, names=names):
                    self._registers[body.scopes[at]] |= {each.name: (kind, each.count, at) for each in names}
                case nodes.Variable(declarators=declarators):
                    self._symbols[body.scopes[at]] |= {each.name for each in declarators}
                case nodes.Label(name):
                    self._symbols[body.scopes[at]].add(name)
                case _:
                    pass

    def register(self, name: str, at: int) -> Declared | None:
        """Return the declaration of register `name` visible at index `at`; None if no register has this name."""
        known = self._known[self.body.scopes[at]]
        if name not in known:
            known[name] = self._declared(name, at)
        return known[name]

    def _declared(self, name: str, at: int) -> Declared | None:
        for scope in self._scopes(at):
            found = self._in(scope, name) if scope in self._registers else None
            if found is not None:
                return found
        return self._in(self._root, name)

    def _scopes(self, at: int) -> Iterator[int]:
        """Yield the scopes around index `at`, innermost first, without the scope of the whole body."""
        scope = self.body.scopes[at]
        while scope != self._root:
            yield scope
            scope = self.body.scopes[scope]

    def _in(self, scope: int, name: str) -> Declared | None:
        names = self._registers[scope]
        held = names.get(name)
        if held is not None and held[1] is None:
            return Declared(name, None, held[0], held[2], scope != self._root)
        for stem, number in numbered(name):
            held = names.get(stem)
            if held is not None and held[1] is not None and number < held[1]:
                return Declared(stem, number, held[0], held[2], scope != self._root)
        return None

    def is_inner(self, symbol: str, at: int) -> bool:
        """Return whether a `{ }` scope of the body around index `at` declares the symbol."""
        return any(symbol in self._symbols[scope] for scope in self._scopes(at) if scope in self._symbols)


class Rewriting:
    """Replacement of the leaf operands of a body's instructions; `change` returns the replacement of a leaf.

    `vector` gets each vector before and after replacement of its elements, and returns the vector to use.
    """

    def __init__(
        self,
        names: Names,
        change: Callable[[Leaf], tree.Operand],
        vector: Callable[[tree.Vector, tree.Vector], tree.Operand] = lambda _before, after: after,
    ) -> None:
        """Store the `Names` of the body, which resolve its registers and symbols."""
        self._names, self._change, self._vector = names, change, vector

    def instruction(self, at: int) -> nodes.Instruction:
        """Return the instruction at an index with its leaf operands replaced; leading trivia and text are kept."""
        guard, operands = self.parts(at)
        item = self._names.body.items[at]
        return replace(
            self._names.body.branch(at),
            guard=guard,
            operands=operands,
            leading_trivia=item.leading_trivia,
            raw=item.raw,
        )

    def parts(self, at: int) -> tuple[nodes.Guard | None, tuple[tree.Operand, ...]]:
        """Return the guard and operands of the instruction at an index, with their leaves replaced."""
        node = self._names.body.branch(at)
        guard = node.guard
        declared = None if guard is None else self._names.register(guard.register, at)
        if guard is not None and declared is not None:
            other = self._change(Leaf(declared.type, tree.Register(guard.register), at, None, (), declared))
            if isinstance(other, (tree.Register, tree.Symbol)):
                guard = nodes.Guard(other.name, guard.negated)
        return guard, tuple([self._operand(each, at, number, node.opcode) for number, each in enumerate(node.operands)])

    def _operand(self, operand: tree.Operand, at: int, number: int, opcode: tuple[str, ...]) -> tree.Operand:
        """Return an operand with its leaves replaced; `opcode` is empty if it does not affect the numbers' format."""
        if type(operand) is tree.Register or type(operand) is tree.Symbol:
            declared = self._names.register(operand.name, at)
            if declared is not None:
                return self._change(Leaf(declared.type, operand, at, number, opcode, declared))
            is_open = type(operand) is tree.Symbol and self._is_open(operand.name, at)
            return self._change(Leaf(SYMBOL, operand, at, number, opcode)) if is_open else operand
        if type(operand) is tree.Immediate:
            return self._change(Leaf(NUMBER, operand, at, number, opcode))
        match operand:
            case tree.Vector(elements):
                return self._vector(operand, tree.Vector(self._all(elements, at, number, opcode)))
            case tree.CallList(elements):
                return tree.CallList(self._all(elements, at, number, opcode))
            case tree.TensorAddress(elements):
                return tree.TensorAddress(self._all(elements, at, number))
            case tree.Pair(first, second):
                return tree.Pair(*self._all((first, second), at, number))
            case tree.Address(base, offset):
                return tree.Address(*self._all((base,) if offset is None else (base, offset), at, number))
            case tree.Negated(inner):
                return tree.Negated(self._operand(inner, at, number, opcode))
            case tree.Unified(inner):
                return tree.Unified(self._operand(inner, at, number, ()))
            case _:
                return operand

    def _all(
        self, operands: tuple[tree.Operand, ...], at: int, number: int, opcode: tuple[str, ...] = ()
    ) -> tuple[tree.Operand, ...]:
        return tuple([self._operand(each, at, number, opcode) for each in operands])

    def _is_open(self, symbol: str, at: int) -> bool:
        """Return whether a symbol belongs to the module: not a label, a function or a name of an inner scope."""
        return self._names.body.branch(at).opcode[0] not in _FIXED and not self._names.is_inner(symbol, at)


class Shapes:
    """Number of each instruction's shape (all but leaf operands); comparable between bodies with the same `numbers`."""

    def __init__(self, names: Names, numbers: dict[Hashable, int]) -> None:
        """Store the `Names` of the body, which resolve its registers and symbols."""
        self._names, self._numbers = names, numbers
        self._known: defaultdict[int, dict[int, int]] = defaultdict(dict)

    def shape(self, at: int) -> tuple[int, ...]:
        """Return a key that instructions of one shape share; it contains registers that inner scopes declare."""
        node = self._names.body.branch(at)
        shape = [self._number(node.opcode), 0 if node.guard is None else self._number(self._guard(node.guard, at))]
        if node.opcode[0] in _FIXED:
            return *shape, *[self._number(self._operand(each, at, fixed=True)) for each in node.operands]
        known = self._known[self._names.body.scopes[at]]  # equal operands of a parsed tree are one object
        for operand in node.operands:
            number = known.get(id(operand))
            if number is None:
                number = known[id(operand)] = self._number(self._operand(operand, at))
            shape.append(number)
        return tuple(shape)

    def _number(self, what: Hashable) -> int:
        """Return a shape number of at least 1, equal for equal keys."""
        return self._numbers.setdefault(what, len(self._numbers) + 1)

    def _guard(self, guard: nodes.Guard, at: int) -> Hashable:
        register = self._register(guard.register, at)
        return guard if register is None else (register, guard.negated)

    def _register(self, name: str, at: int) -> Hashable | None:
        """Return a register's type, or the register itself if an inner scope declares it; None for any other name."""
        declared = self._names.register(name, at)
        if declared is None:
            return None
        return tree.Register(name) if declared.is_inner else declared.type

    def _operand(self, operand: tree.Operand, at: int, *, fixed: bool = False) -> Hashable:
        """Return an operand with leaves replaced by their types; symbols are not leaves if `fixed`."""
        if type(operand) is tree.Register or type(operand) is tree.Symbol:
            if (kind := self._register(operand.name, at)) is not None:
                return kind
            is_fixed = fixed or type(operand) is tree.Register or self._names.is_inner(operand.name, at)
            return operand if is_fixed else SYMBOL
        if type(operand) is tree.Immediate:
            return NUMBER
        match operand:
            case tree.Vector(parts) | tree.CallList(parts) | tree.TensorAddress(parts):
                pass
            case tree.Pair(first, second):
                parts = first, second
            case tree.Address(base, offset):
                parts = (base,) if offset is None else (base, offset)
            case tree.Negated(inner) | tree.Unified(inner):
                parts = (inner,)
            case _:
                return operand
        return operand.__class__, tuple([self._operand(each, at, fixed=fixed) for each in parts])
