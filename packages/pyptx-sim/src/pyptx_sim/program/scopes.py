"""Scopes, and the bindings of names to registers, variables, labels and functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyptx_sim.types import byte_size

# Placeholder for the offset of dynamic shared memory, which is known after all static variables are placed.
DYNAMIC_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class RegisterBinding:
    """Register: its slot (index in the register file), its PTX type, its name for messages."""

    slot: int
    type: str
    name: str

    @property
    def width(self) -> int:
        """Size of the register in bytes; 0 for a predicate."""
        return 0 if self.type == "pred" else byte_size(self.type)


@dataclass(frozen=True, slots=True)
class VectorBinding:
    """Register declared `.v2` or `.v4`: its components in order."""

    components: tuple[RegisterBinding, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """A variable in memory.

    `space` is the state space: `global const shared local param`. A `.param` variable of a device function is stored in
    the function's `local` stack frame; only parameters of the entry are in `param`. `offset` is relative to the start
    of the space, or, for `local`, to the function's frame; `DYNAMIC_OFFSET` for `.extern .shared x[]`.
    """

    name: str
    space: str
    offset: int
    size: int
    type: str


@dataclass(frozen=True, slots=True)
class ParameterBinding:
    """Scalar `.param` variable stored in a register, as instructions only load, store and pass it as a whole."""

    register: RegisterBinding


@dataclass(frozen=True, slots=True)
class UnsizedParameter:
    """Parameter `.param .b8 name[]`: a register with the argument's address in local memory. Manual: ".func"."""

    register: RegisterBinding


@dataclass(frozen=True, slots=True)
class FunctionBinding:
    """Function; `name` is its key in `Linked.functions`, aliases resolved."""

    name: str


@dataclass(frozen=True, slots=True)
class LabelBinding:
    """Label; `key` is its number within the program."""

    key: int


@dataclass(frozen=True, slots=True)
class TargetsBinding:
    """Names in a `.branchtargets` or `.calltargets` list."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PrototypeBinding:
    """`.callprototype` declaration."""


Binding: TypeAlias = (
    RegisterBinding
    | VectorBinding
    | Placement
    | ParameterBinding
    | UnsizedParameter
    | FunctionBinding
    | LabelBinding
    | TargetsBinding
    | PrototypeBinding
)

_OPAQUE = frozenset({"texref", "samplerref", "surfref"})
_KINDS: dict[type, str] = {
    ParameterBinding: ".param",
    UnsizedParameter: ".param",
    FunctionBinding: ".func",
    LabelBinding: ".label",
    TargetsBinding: ".targets",
    PrototypeBinding: ".targets",
}
_COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}


# Registers declared as `%prefix<count>`: count, first slot, type, and vector length (0 for scalars).
_Range: TypeAlias = tuple[int, int, str, int]


def vector_binding(name: str, register_type: str, first_slot: int, lanes: int) -> VectorBinding:
    """Return the binding of a vector register with `lanes` components in consecutive slots from `first_slot`."""
    parts = enumerate("xyzw"[:lanes], first_slot)
    return VectorBinding(tuple(RegisterBinding(slot, register_type, f"{name}.{part}") for slot, part in parts))


@dataclass(slots=True)
class Scope:
    """Names declared in one `{ }` block, function or module; lookup continues in outer scopes."""

    parent: Scope | None = None
    _names: dict[str, Binding] = field(default_factory=dict[str, Binding])
    _ranges: dict[str, _Range] = field(default_factory=dict[str, tuple[int, int, str, int]])

    def bind(self, name: str, binding: Binding) -> None:
        """Bind `name` in this scope; an inner binding hides an outer one."""
        self._names[name] = binding

    def bind_range(self, prefix: str, count: int, first_slot: int, register_type: str, lanes: int = 0) -> None:
        """Bind names `prefix0` to `prefix(count-1)` to registers in consecutive slots, `lanes` slots per vector."""
        self._ranges[prefix] = (count, first_slot, register_type, lanes)

    def find(self, name: str) -> Binding | None:
        """Return the binding of `name`, innermost scope first; None if there is none."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.own(name)
            if found is not None:
                return found
            scope = scope.parent
        return self._component(name)

    def declared(self, name: str) -> str | None:
        """Return what a name denotes, such as `u32` or `.shared`, in the format of `pyptx_ir.isa.shapes.shape_of`.

        None if the name is not declared.
        """
        found = self.find(name)
        match found:
            case RegisterBinding():
                return found.type
            case VectorBinding():
                return f"v{len(found.components)}.{found.components[0].type}"
            case Placement(type=kind) if kind in _OPAQUE:
                return f".{kind}"
            case Placement():  # `.local` is not stated: local memory also has device functions' parameters
                return "" if found.space == "local" else f".{found.space}"
            case None:
                return None
            case _:
                return _KINDS[type(found)]

    def own(self, name: str) -> Binding | None:
        """Return the binding of `name` in this scope, ignoring outer scopes; None if there is none."""
        found = self._names.get(name) or self._in_range(name)
        if found is not None:
            self._names[name] = found  # cache a register such as %r7 of a declared range `%r<8>`
        return found

    def _in_range(self, name: str) -> RegisterBinding | VectorBinding | None:
        prefix = name.rstrip("0123456789")
        digits = name[len(prefix) :]
        # A prefix may end in digits (`%p1_<3>`, `r2<5>`), so every prefix is tried, the shortest one first.
        for cut in range(len(digits)):
            known = self._ranges.get(prefix + digits[:cut])
            number = digits[cut:]
            if known is None or (len(number) > 1 and number[0] == "0"):
                continue
            count, first, register_type, lanes = known
            if int(number) >= count:
                continue
            if lanes:
                return vector_binding(name, register_type, first + lanes * int(number), lanes)
            return RegisterBinding(first + int(number), register_type, name)
        return None

    def _component(self, name: str) -> RegisterBinding | None:
        base, dot, part = name.rpartition(".")
        if not dot or part not in _COMPONENTS:
            return None
        vector = self.find(base)
        if not isinstance(vector, VectorBinding) or _COMPONENTS[part] >= len(vector.components):
            return None
        return vector.components[_COMPONENTS[part]]
