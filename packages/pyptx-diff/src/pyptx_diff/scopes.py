"""Name resolution in a module: each declaration has a number, and a name is looked up in its scope.

Manual: "Identifiers", "Parameterized Variable Names". A label is visible in its whole block, every other name after its
declaration. All trailing digits of a numbered register's name are its number: `%r012` is `%r12` (ptxas 13.0).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable

_DIGITS: Final = "0123456789"
_MOST_DIGITS: Final = 18  # maximum number of trailing digits of a numbered name such as `%r12`


class Declaration(NamedTuple):
    """A declared name.

    `detail`, for example the type of a register, must be equal in both modules. `public` is whether code outside the
    module may refer to the name. `at` is the number of the declaring statement, `function` the name of its function.
    """

    kind: str
    name: str
    detail: Hashable
    at: int
    function: str = ""
    public: bool = False


class Family(NamedTuple):
    """Numbered names, `stem0 … stem(size-1)`; each name is declared at its first use."""

    kind: str
    size: int
    detail: Hashable
    at: int
    function: str


@dataclass(slots=True)
class NameScope:
    """Names declared in a module, in a function, or in a block."""

    outer: NameScope | None = None
    names: dict[str, int] = field(default_factory=dict[str, int])
    families: dict[str, list[Family]] = field(default_factory=dict[str, list[Family]])


class Declarations(list[Declaration]):
    """All declarations of a module, indexed by number."""

    __slots__ = ()

    def declare(self, scope: NameScope, declaration: Declaration) -> int:
        """Add a declaration to the scope under its name; return its declaration number."""
        number = scope.names[declaration.name] = len(self)
        self.append(declaration)
        return number

    def declare_family(self, scope: NameScope, stem: str, family: Family) -> None:
        """Add numbered names to the scope."""
        scope.families.setdefault(stem, []).append(family)

    def find(self, scope: NameScope | None, name: str) -> int | None:
        """Return the number of the declaration that a name refers to in a scope; None if undeclared (`%tid`)."""
        while scope is not None:
            found = scope.names.get(name)
            if found is None and scope.families:
                found = self._numbered(scope, name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def _numbered(self, scope: NameScope, name: str) -> int | None:
        stem = name.rstrip(_DIGITS)
        digits = name[len(stem) :]
        if not 0 < len(digits) <= _MOST_DIGITS or stem not in scope.families:
            return None
        family = next((one for one in scope.families[stem] if int(digits) < one.size), None)
        if family is None:
            return None
        usual = f"{stem}{int(digits)}"
        number = scope.names.get(usual)
        if number is None:
            number = self.declare(scope, Declaration(family.kind, usual, family.detail, family.at, family.function))
        scope.names[name] = number
        return number
