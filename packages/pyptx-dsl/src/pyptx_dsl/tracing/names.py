"""Names of one trace, scope by scope, with their register types and state spaces for the instruction checker.

A `{ … }` of PTX is a scope: its declarations may reuse an outer name, and are visible up to its closing brace.
Declarations at the start of the body or before the entry are visible everywhere, so no scope may use their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import DuplicateNameError, HiddenRegisterError
from pyptx_dsl.registers.handle import MOST_NAMES, Handle, NumberedNames, numbered
from pyptx_dsl.registers.texts import identifier
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyptx_dsl.registers.register import RegArray
    from pyptx_dsl.tracing.checker import Declared
    from pyptx_dsl.tracing.label_schemes import LabelNames
    from pyptx_dsl.tracing.trace import Trace
    from pyptx_ir.syntax.nodes import Declarator, RegisterDeclaration, RegisterName, Variable

_COMPONENTS = {"v2": ("xy", "rg"), "v4": ("xyzw", "rgba")}


class Hiding:
    """Stands for the `trace` of a register while its name is hidden or undeclared; any use of the register raises."""

    __slots__ = ("_help", "_register", "_why")

    def __init__(self, register: str, why: str, help: str) -> None:
        """Store the register's name, and the reason and the hint for the HiddenRegisterError."""
        self._register = register
        self._why = why
        self._help = help

    @property
    def name(self) -> str:
        """Raise HiddenRegisterError: the check for registers of other traces reads the trace's name."""
        raise HiddenRegisterError(f"register {self._register} {self._why}", help=self._help)


class NameScope:
    """Names that one `{ … }` declares, and the registers with these names.

    `hidden` maps each name to its register type or state space in the outer scopes, None if undeclared there. `covered`
    are the outer registers whose names this scope redeclares, with their traces.
    """

    __slots__ = ("_held", "banks", "covered", "hidden", "taken")

    def __init__(self) -> None:
        """Start a `{ }` scope without names."""
        self.taken: set[str] = set()
        self.banks: list[NumberedNames] = []
        """Large register groups, whose names are not stored in `taken`."""
        self._held: list[Handle | RegArray] = []
        self.hidden: dict[str, str | None] = {}
        self.covered: list[tuple[Handle | RegArray, Trace]] = []

    def hold(self, registers: Iterable[Handle | RegArray]) -> None:
        """Record registers that this `{ }` scope declares."""
        self._held.extend(registers)

    def let_go(self) -> None:
        """Remove this scope's references to registers, so that they can be freed."""
        self._held.clear()

    def first_taken(self, names: Collection[str]) -> str | None:
        """Return the first of `names` that this `{ }` scope declares; None if it declares none of them."""
        if isinstance(names, NumberedNames):
            found = (name for name in (*self.taken, *(bank[0] for bank in self.banks)) if name in names)
            return next(found, None) or next((names[0] for bank in self.banks if names[0] in bank), None)
        if not self.taken.isdisjoint(names):
            return next(name for name in names if name in self.taken)
        return next((name for bank in self.banks for name in names if name in bank), None)

    def registers(self, names: Collection[str] | None = None) -> Iterator[Handle | RegArray]:
        """Yield the scope's registers, also those in arrays; with `names`, only registers with one of these names.

        For a large array, yield its existing `Reg` objects and the array itself, which creates its other registers.
        """
        for held in self._held:
            if isinstance(held, Handle):
                every: Iterable[Handle | RegArray] = (held,)
            else:
                every = held if held.count <= MOST_NAMES else _of_large(held, names)
            yield from [each for each in every if names is None or _has_name(each, names)]

    def hide(self, register: Handle | RegArray) -> None:
        """Make a register of an outer `{ }` scope unusable while this scope is open."""
        why = "is hidden here: this scope declares another register of that name"
        self.covered.append((register, register.trace))
        _hide(register, why, "rename one of the two registers")

    def close(self) -> None:
        """Make this `{ }` scope's registers unusable, and the outer registers that it hid usable again."""
        for register in self.registers():
            _hide(register, "is not declared here: its scope is closed", "declare the register outside of that scope")
        for register, trace in self.covered:
            register.trace = trace


def _hide(register: Handle | RegArray, why: str, help: str) -> None:
    name = register.raw_name if isinstance(register, Handle) else f"{register.base}0"
    register.trace = cast("Trace", Hiding(name, why, help))


def _of_large(array: RegArray, names: Collection[str] | None) -> list[Handle | RegArray]:
    """Return a large RegArray and its existing `Reg` objects or, with `names`, only its registers with these names."""
    if names is None or isinstance(names, NumberedNames):
        return [array, *array.made()]
    own = numbered(array.base, array.count)
    return [array[int(name.removeprefix(array.base))] for name in names if name in own]


def _has_name(register: Handle | RegArray, names: Collection[str]) -> bool:
    """Return whether `names` has the name of the register, or of a register in the register array."""
    if isinstance(register, Handle):
        return register.raw_name in names
    own = numbered(register.base, register.count)
    return own[0] in names or next(iter(names)) in own


class Names:
    """Names of a trace: variables, parameters, labels, and registers that an explicit `.reg` declares."""

    __slots__ = ("_banks", "_declared", "_hints", "_kernel", "_scopes", "_taken", "labels", "scheme", "unnamed_labels")

    def __init__(self, kernel: str, declared: Declared) -> None:
        """Start with the name of the entry function; `declared` is the checker's dict of declared names."""
        self.labels: set[str] = set()
        self.scheme: LabelNames | None = None
        """Pattern by which unnamed labels are renamed when the trace ends; None keeps their generated names."""
        self.unnamed_labels: set[str] = set()
        self._kernel = kernel
        self._declared = declared
        # Taken names: names declared in inner `{ }` scopes so far, also in closed scopes; label names; generated names.
        self._taken: set[str] = {kernel}
        # Large register groups of all `{ }` scopes so far: `_taken` does not store their names.
        self._banks: list[NumberedNames] = []
        self._hints: dict[str, int] = {}
        self._scopes = [NameScope()]

    def surround(self, declared: Mapping[str, str]) -> None:
        """Set the names of the enclosing module, which the trace may redeclare, but never uses for generated names."""
        self._declared.around = declared

    def claim(self, name: str, kind: str = "") -> None:
        """Reserve a name for the whole trace; raise DuplicateNameError if a `{ }` scope uses it."""
        self.refuse(name)
        self._scopes[0].taken.add(name)
        if kind:
            self._declared[name] = kind

    def refuse(self, name: str) -> None:
        """Raise DuplicateNameError for a name that a `{ }` scope of the trace uses."""
        if self.has(name):
            raise self._duplicate(name)

    def claim_parameter(self, name: str, kind: str) -> None:
        """Reserve the name of a parameter, which may hide a name of the module, and may be empty or `_`."""
        if name not in {"", "_"}:
            self.declare((name,), kind)

    def declare(self, names: Collection[str], kind: str) -> None:
        """Declare names in the innermost `{ }` scope; raise DuplicateNameError if it already declares one of them."""
        scope = self._scopes[-1]
        taken = scope.first_taken(names)
        if taken is not None:
            raise self._duplicate(taken)
        if isinstance(names, NumberedNames):
            self._declare_bank(scope, names, kind)
            return
        free = len(scope.taken)
        scope.taken.update(names)
        if len(scope.taken) - free < len(names):
            raise self._duplicate(_twice(names))
        if scope is not self._scopes[0]:
            self._taken.update(names)
            scope.hidden.update([(name, self._declared.get(name)) for name in names])
            self._cover(scope, names)
        self._declared.update(dict.fromkeys(names, kind))

    def declare_variable(self, node: Variable) -> None:
        """Declare the names of a variable in the innermost `{ }` scope."""
        for names in declared_names(node.declarators):
            self.declare(names, variable_kind(node))

    def _declare_bank(self, scope: NameScope, names: NumberedNames, kind: str) -> None:
        """Declare the names of a large register group, which are not stored individually."""
        scope.banks.append(names)
        self._banks.append(names)
        if scope is not self._scopes[0]:
            for name in [name for name in self._declared if name in names]:
                scope.hidden[name] = self._declared.pop(name)
            self._cover(scope, names)
        self._declared.banks.append((names, kind))

    def hold(self, registers: Iterable[Handle | RegArray]) -> None:
        """Record the registers whose names the innermost `{ }` scope declares."""
        self._scopes[-1].hold(registers)

    def let_go(self) -> None:
        """Remove the references to the registers of a finished trace."""
        self._scopes[0].let_go()

    def _cover(self, scope: NameScope, names: Collection[str]) -> None:
        """Hide the registers of outer `{ }` scopes that have one of these names."""
        for outer in self._scopes[:-1]:
            if outer.first_taken(names) is not None:
                for register in outer.registers(names):
                    scope.hide(register)

    def define_label(self, name: str) -> None:
        """Define a label in the innermost `{ }` scope; raise DuplicateNameError if it already declares the name."""
        scope = self._scopes[-1]
        if scope.first_taken((name,)) is not None:
            raise DuplicateNameError(
                f"label {name!r} is already defined in kernel {self._kernel!r}",
                help="use another name, or omit the name",
            )
        identifier(name, "a label")
        scope.taken.add(name)
        self._taken.add(name)
        self.labels.add(name)

    def fresh(self, stem: str) -> str:
        """Reserve and return the next free name `stem_N`."""
        name, number = self._free(f"{stem}_", self._hints.get(stem, 0))
        self._hints[stem] = number + 1
        self._taken.add(name)
        return name

    def fresh_label(self, stem: str) -> str:
        """Return an unused label name; the name is reserved only when the label is defined."""
        name, number = self._free(f"$L_{stem}_", self._hints.get(stem, 0))
        self._hints[stem] = number + 1
        self.unnamed_labels.add(name)
        return name

    def has(self, name: str) -> bool:
        """Return whether a variable, parameter or label of that name has been declared."""
        if name in self._scopes[0].taken or name in self._taken or name in self._declared.around:
            return True
        return any(name in bank for bank in self._banks)

    def enter(self) -> None:
        """Open a NameScope for the names of a `{ … }`."""
        self._scopes.append(NameScope())

    def enter_body(self) -> None:
        """Until `leave_body`, declare names in the outermost scope instead of the innermost."""
        self._scopes.append(self._scopes[0])

    def leave_body(self) -> None:
        """End `enter_body`: declarations belong to the innermost `{ }` scope again."""
        self._scopes.pop()

    def leave(self) -> None:
        """Close the innermost `{ }` scope: remove its declarations, and restore the names that it hid."""
        scope = self._scopes.pop()
        scope.close()
        self._declared.banks = [pair for pair in self._declared.banks if all(pair[0] is not own for own in scope.banks)]
        for name, before in scope.hidden.items():
            if before is None:
                self._declared.pop(name, None)
            else:
                self._declared[name] = before

    def _free(self, stem: str, number: int) -> tuple[str, int]:
        while self.has(f"{stem}{number}"):
            number += 1
        return f"{stem}{number}", number

    def _duplicate(self, name: str) -> DuplicateNameError:
        return DuplicateNameError(
            f"name {name!r} is already used in kernel {self._kernel!r}", help="choose another name"
        )


def _twice(names: Iterable[str]) -> str:
    """Return the first of `names` that occurs twice."""
    seen = set[str]()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise ValueError("no name occurs twice")


def declared_names(declarators: Iterable[Declarator | RegisterName]) -> Iterator[Sequence[str]]:
    """Yield the names of a declaration, each large register group separately; `name<n>` is `name0 … name(n-1)`."""
    parts = [(each.name,) if each.count is None else numbered(each.name, each.count) for each in declarators]
    yield from [part for part in parts if isinstance(part, NumberedNames)]
    stored = [part for part in parts if not isinstance(part, NumberedNames)]
    if stored:
        yield stored[0] if len(stored) == 1 else tuple([name for part in stored for name in part])


def variable_kind(node: Variable) -> str:
    """Return the kind of a variable for the instruction checker: its state space, or its opaque type."""
    return f".{node.type}" if node.type.endswith("ref") else f".{node.space.partition('::')[0].partition('[')[0]}"


def register_kinds(node: RegisterDeclaration) -> Iterator[tuple[Sequence[str], str]]:
    """Yield the names of a `.reg`, and of vector components, with their register types for the instruction checker."""
    for names in declared_names(node.names):
        if node.vector is None:
            yield names, node.type
            continue
        yield names, f"{node.vector}.{node.type}"
        for letters in _COMPONENTS[node.vector]:
            if isinstance(names, NumberedNames):
                yield from [(NumberedNames(names.stem, names.size, f".{letter}"), node.type) for letter in letters]
            else:
                yield tuple([f"{name}.{letter}" for name in names for letter in letters]), node.type


def register_names(operand: tree.Operand) -> Iterator[str]:
    """Yield the names of all registers inside an operand."""
    match operand:
        case tree.Register(name=name):
            yield name
        case tree.Address(base=base, offset=offset):
            yield from register_names(base)
            if offset is not None:
                yield from register_names(offset)
        case tree.Vector(elements=parts) | tree.CallList(elements=parts) | tree.TensorAddress(elements=parts):
            for part in parts:
                yield from register_names(part)
        case tree.Pair(first=first, second=second):
            yield from register_names(first)
            yield from register_names(second)
        case (
            tree.Negated(operand=inner)
            | tree.Parenthesized(operand=inner)
            | tree.Unary(operand=inner)
            | tree.Unified(address=inner)
        ):
            yield from register_names(inner)
        case _:
            return
