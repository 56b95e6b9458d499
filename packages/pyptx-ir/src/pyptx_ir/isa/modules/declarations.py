"""Declare the names of statements, and report duplicates. Measured on ptxas 13.5 for each kind of name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.opaque_fields import OPAQUE
from pyptx_ir.isa.modules.scopes import UNDECLARED, UNKNOWN, Storage
from pyptx_ir.isa.modules.sizes import storage_of
from pyptx_ir.isa.modules.special import reserved
from pyptx_ir.syntax.lexemes import integer
from pyptx_ir.syntax.nodes import BranchTargets, CallPrototype, CallTargets, Invalid, Label

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import RegisterDeclaration, Variable

_NO_BANKS = (2, 2)
_INVALID_NAME = re.compile(r"(?<![\w$%.])([A-Za-z_$%][\w$]*)(?:\s*<\s*([0-9]{1,9})\s*>)?")
_NO_NAMES = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"[^\"\n]*\"", re.DOTALL)


def registers(walk: Walk, node: RegisterDeclaration) -> None:
    """Declare the registers of a `.reg` in the current scope."""
    if _is_misplaced(walk):
        message = "register declared outside a function"
        walk.report(Finding("misplaced-directive", message, "move the .reg into the function that uses it"))
    kind = f"{node.vector}.{node.type}" if node.vector else node.type
    for name in node.names:
        reserved(walk, "redefined-register", name.name)
        if name.count is None:
            before = walk.scope.declare(name.name, kind, walk.at)
        else:
            before = walk.scope.declare_range(name.name, name.count, kind, walk.at)
        if before is not None:
            _redefined(walk, "redefined-register", name.name, before)


def _is_misplaced(walk: Walk) -> bool:
    """Return whether a declaration is outside functions but must be inside; PTX before 3.0 (no stack) allowed it."""
    return walk.routine is None and not walk.unreadable and walk.judged_version >= (3, 0)


def variable(walk: Walk, node: Variable) -> None:
    """Declare the variables of a declaration in the current scope."""
    if node.space in ("local", "param") and _is_misplaced(walk):
        message = f".{node.space} variable declared outside a function"
        walk.report(Finding("misplaced-directive", message, "move the variable into the function that uses it"))
    _linked(walk, node)
    space = node.space.partition("::")[0].partition("[")[0]
    kind = f".{node.type}" if node.type in OPAQUE else f".{space}"
    for declarator in node.declarators:
        reserved(walk, "redefined-variable", declarator.name)
        storage = storage_of(space, node, declarator.dimensions)
        if declarator.count is not None:
            before = walk.scope.declare_range(declarator.name, declarator.count, kind, walk.at)
        else:
            before = _declare_variable(walk, node, declarator.name, kind, storage)
        if before is not None:
            _redefined(walk, "redefined-variable", declarator.name, before)
        if space == "const" and storage.size is not None and node.linking != "extern":
            walk.constant = -(-walk.constant // storage.alignment) * storage.alignment + storage.size
            walk.constant_at = walk.at
        if space == "shared" and walk.routine is not None and node.linking != "extern":
            walk.routine.own_shared += (storage.size or 0) * (declarator.count or 1)


def _linked(walk: Walk, node: Variable) -> None:
    """Reject linking directives inside functions, and .common outside .global, as ptxas does."""
    if node.linking and walk.routine is not None:
        message, help = (
            f".{node.linking} inside a function: only module-level declarations can have it",
            "move the declaration out of the function",
        )
    elif node.linking == "common" and node.type in OPAQUE and not all(one.dimensions for one in node.declarators):
        message, help = f".common is not allowed on a .{node.type} variable", "remove .common"
    elif node.linking == "common" and node.space != "global":
        message, help = f".common is not allowed on a .{node.space} variable, only on .global", "remove .common"
    elif "::" in node.space:
        base = node.space.partition("::")[0]
        message, help = (
            f"invalid variable state space .{node.space}: only instructions use it",
            f"write .{base}",
        )
    elif "[" in node.space and walk.judged_version >= _NO_BANKS:
        message, help = "constant banks were removed in PTX 2.2", "write .const"
    else:
        return
    walk.report(Finding("misplaced-directive", message, help, word=f".{node.linking or node.space}"))


def _declare_variable(walk: Walk, node: Variable, name: str, kind: str, storage: Storage) -> int | None:
    """Declare a name; return its conflicting declaration. `.extern` permits module-level declarations of equal type."""
    scope = walk.scope
    before = scope.declare(name, kind, walk.at)
    scope.storage[name] = storage
    if walk.routine is not None:
        return before
    earlier, walk.variables[name] = walk.variables.get(name), node
    if earlier is None:
        return before
    if "extern" not in (earlier.linking, node.linking) or earlier.type != node.type or earlier.vector != node.vector:
        return before
    return before if earlier.linking == "extern" and node.linking is None else None


def label(walk: Walk, node: Label) -> None:
    """Declare a label in the current scope."""
    kind = ".label" if node.name in walk.scope.labels else ".targets"
    walk.last_label = node.name
    reserved(walk, "redefined-label", node.name)
    before = walk.scope.declare(node.name, kind, walk.at)
    if before is not None:
        _redefined(walk, "redefined-label", node.name, before)


def targets(walk: Walk, node: BranchTargets | CallTargets | CallPrototype) -> None:
    """Look up the labels of a `.branchtargets`, or the functions of a `.calltargets`."""
    walk.scope.lists[walk.last_label] = node
    if isinstance(node, CallPrototype):
        return
    is_branch = isinstance(node, BranchTargets)
    # ptxas 13.5 accepts entries in a .calltargets, but no call can reach them.
    wanted = (".label",) if is_branch else (".func", ".entry")
    code = "undefined-label" if is_branch else "undefined-function"
    for entry in node.targets:
        name = _missing_of_family(walk, entry) if "<" in entry else entry
        if name and walk.scope[name] not in (*wanted, UNKNOWN):
            what = "label of this or an enclosing block" if is_branch else "function declared above"
            walk.report(Finding(code, f"'{name}' is not a {what}", "declare the name, or correct it", word=name))


def _missing_of_family(walk: Walk, entry: str) -> str:
    """Return the first label of N0, N1, …, the labels of `N<5>`, that is undeclared here, or an empty string."""
    stem, _, count = entry.rstrip(">").partition("<")
    names = (f"{stem}{number}" for number in range(integer(count)))
    return next((name for name in names if walk.scope[name] == UNDECLARED), "")


def unreadable(walk: Walk, node: Invalid) -> None:
    """Treat every name in invalid text as declared, so that the error is reported once, not at each use."""
    walk.unreadable = True
    walk.scope.shapes.clear()
    for name, count in _INVALID_NAME.findall(_NO_NAMES.sub(" ", node.raw or "")):
        if count:
            walk.scope.ranges.setdefault(name, []).append((int(count), UNKNOWN, walk.at))
        elif name not in walk.scope.at:
            walk.scope[name] = UNKNOWN


def _redefined(walk: Walk, code: str, name: str, before: int) -> None:
    message = f"'{name}' is already declared at line {{line}}"
    help = "remove or rename one of the two declarations"
    walk.report(Finding(code, message, help, word=name, other=before))
