"""Check for misplaced statements: code outside functions, debugging directives inside, empty statements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.part_spans import own_text, without_comments
from pyptx_ir.syntax.nodes import File, Function, Pragma, Section

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Directive, Empty, Statement, Variable

_PRAGMAS_OF_MODULES = frozenset({"nounroll"})
_PRAGMAS_OF_BODIES = frozenset({"used_bytes_mask", "enable_smem_spilling", "frequency"})
_NO_DWARF_LINES = (2, 0)
_WITH_VALUE = frozenset({"used_bytes_mask", "frequency"})
# ptxas accepts .align and .ptr after the type only in parameters of entries and in prototypes.
_HEAD = 400  # number of leading characters of a declaration in which its type is searched
_LATE_ATTRIBUTE = re.compile(r"\.(?:[busf](?:8|16|32|64|128)|f16x2|pred)\s+\.(align|ptr)\b", re.ASCII)


def in_function(walk: Walk, node: Statement) -> None:  # noqa: ARG001 - every check takes a statement
    """Reject code outside functions, once per module, because a brace may have closed a function too early."""
    if walk.routine is not None or walk.unreadable:
        return
    walk.unreadable = True
    help = "move the code into a function, or remove an extra '}' above"
    walk.report(Finding("outside-function", "code outside any function", help))


def at_top(walk: Walk, node: File | Section) -> None:
    """Reject `.file` and `.section` inside functions, and two `.file` directives with one number."""
    name = "file" if isinstance(node, File) else "section"
    if walk.routine is not None:
        message = f".{name} inside a function"
        walk.report(Finding("misplaced-directive", message, "move the directive out of the function"))
    if not isinstance(node, File):
        return
    before = walk.files.setdefault(node.index, walk.at)
    if before != walk.at:
        message = f"file number {node.index} is already used at line {{line}}"
        help = "give each .file its own number"
        walk.report(Finding("redefined-file", message, help, word=str(node.index), other=before))


def between(walk: Walk, node: Directive) -> None:
    """Reject function header directives outside a header, and `@@DWARF` since PTX 2.0."""
    if node.name.startswith("@@") and walk.judged_version >= _NO_DWARF_LINES:
        walk.report(
            Finding("removed", "@@DWARF was removed in PTX 2.0", "write a .section, or remove the @@DWARF line")
        )
    if not node.name.startswith("@@"):
        message = f".{node.name} must be between the parameters of a function and its body"
        walk.report(Finding("misplaced-directive", message, "move the directive before the function's body"))


def pragma(walk: Walk, node: Pragma) -> None:
    """Reject unknown module-level pragmas; inside functions, ptxas ignores unknown ones."""
    for value in node.values:
        if walk.routine is None and value not in _PRAGMAS_OF_MODULES:
            message, help = (
                f'pragma "{value}" is not allowed at module level',
                "move the pragma into a function, or remove it",
            )
            walk.report(Finding("directive-argument", message, help))
            return


def pragma_value(walk: Walk, node: Pragma) -> None:
    """Reject a pragma that lacks the value that it requires."""
    for value in node.values:
        if value.strip() in _WITH_VALUE:
            message, help = f'pragma "{value}" without a value', f'write "{value.strip()} 1"'
            walk.report(Finding("directive-argument", message, help))


def pragma_of_header(walk: Walk, node: Function) -> None:
    """Reject pragmas in a function's header that belong in the body."""
    for found in node.directives:
        value = next(iter(found.arguments), None) if found.name == "pragma" else None
        name = str(value).strip('"').partition(" ")[0] if value is not None else ""
        if name in _PRAGMAS_OF_BODIES:
            message, help = f'pragma "{name}" is allowed only in the body of a function', "move the pragma after the {"
            walk.report(Finding("misplaced-directive", message, help, word=".pragma"))


def only_ascii(walk: Walk, node: File | Pragma | Function) -> None:
    """Reject strings with non-ASCII characters, which ptxas does not accept."""
    if isinstance(node, Function):
        texts: tuple[object, ...] = tuple(value for found in node.directives for value in found.arguments)
    else:
        texts = (node.name,) if isinstance(node, File) else node.values
    if isinstance(node, Pragma) and walk.routine is None:
        return  # the rule `pragma` rejects all unknown .pragma strings at module level
    if any(isinstance(text, str) and not text.isascii() for text in texts):
        message, help = "non-ASCII characters in a string: ptxas does not accept them", "use ASCII characters only"
        walk.report(Finding("directive-argument", message, help))


def late_attribute(walk: Walk, node: Function | Variable) -> None:
    """Reject `.align` and `.ptr` after a type, except in parameters of entries. The tree does not store this order."""
    if node.raw is None or (isinstance(node, Function) and node.kind == "entry"):
        return
    text = own_text(node, node.raw) if isinstance(node, Function) else without_comments(node.raw[:_HEAD])
    found = _LATE_ATTRIBUTE.search(text)
    # A `.ptr` on a parameter of a function is reported by the rules in `declared_types`.
    if found is not None and not (found[1] == "ptr" and isinstance(node, Function)):
        message = f".{found[1]} after the type is allowed only in parameters of an entry"
        help = "write .align before the type" if found[1] == "align" else "remove it"
        walk.report(Finding("declaration", message, help, word=f".{found[1]}"))


def empty(walk: Walk, node: Empty) -> None:  # noqa: ARG001 - every check takes a statement
    """Reject an empty statement (a stray `;`), as ptxas does."""
    walk.report(Finding("empty-statement", "empty statement: stray ';'", "remove it"))
