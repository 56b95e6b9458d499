"""Statements where they can't stand: code outside functions, debugging directives inside, a `;` that ends nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.places import own_text, without_comments
from pyptx_ir.syntax.nodes import File, Function, Pragma, Section

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Directive, Empty, Statement, Variable

_PRAGMAS_OF_MODULES = frozenset({"nounroll"})
_PRAGMAS_OF_BODIES = frozenset({"used_bytes_mask", "enable_smem_spilling", "frequency"})
_NO_DWARF_LINES = (2, 0)
_WITH_VALUE = frozenset({"used_bytes_mask", "frequency"})
# ptxas reads .align and .ptr following the type in parameters of entries only, and in prototypes.
_HEAD = 400  # characters of a declaration that hold its type; its initialiser may be long
_LATE_ATTRIBUTE = re.compile(r"\.(?:[busf](?:8|16|32|64|128)|f16x2|pred)\s+\.(align|ptr)\b", re.ASCII)


def in_function(walk: Walk, node: Statement) -> None:  # noqa: ARG001 - every check takes its statement
    """Refuse code outside functions; only the first of it, for a brace may close a function too early."""
    if walk.routine is not None or walk.unreadable:
        return
    walk.unreadable = True
    hint = "move it into a function; is there a '}' too many above?"
    walk.report(Finding("outside-function", "this stands outside any function", hint))


def at_top(walk: Walk, node: File | Section) -> None:
    """Refuse `.file` and `.section` inside functions, and two files of one number."""
    name = "file" if isinstance(node, File) else "section"
    if walk.routine is not None:
        message = f".{name} stands outside functions"
        walk.report(Finding("misplaced-directive", message, "move it above or below the function"))
    if not isinstance(node, File):
        return
    before = walk.files.setdefault(node.index, walk.at)
    if before != walk.at:
        message = f"file number {node.index} is named already, at line {{line}}"
        hint = "give each .file its own number"
        walk.report(Finding("redefined-file", message, hint, word=str(node.index), other=before))


def between(walk: Walk, node: Directive) -> None:
    """Refuse what belongs into the header of a function anywhere else, and `@@DWARF` from PTX 2.0 on."""
    if node.name.startswith("@@") and walk.judged_version >= _NO_DWARF_LINES:
        walk.report(Finding("removed", "@@DWARF is gone from PTX 2.0 on", "write a .section, or remove it"))
    if not node.name.startswith("@@"):
        message = f".{node.name} stands between the parameters of a function and its body"
        walk.report(Finding("misplaced-directive", message, "move it there"))


def pragma(walk: Walk, node: Pragma) -> None:
    """Refuse at the top of a module what is no pragma of modules; inside functions, ptxas reads over unknown ones."""
    for value in node.values:
        if walk.routine is None and value not in _PRAGMAS_OF_MODULES:
            message, hint = f'there is no pragma "{value}" for a module', "move it into a function, or remove it"
            walk.report(Finding("directive-argument", message, hint))
            return


def pragma_value(walk: Walk, node: Pragma) -> None:
    """Refuse a pragma without the value that ptxas asks for."""
    for value in node.values:
        if value.strip() in _WITH_VALUE:
            message, hint = f'the pragma "{value}" takes a value', f'write "{value.strip()} 1"'
            walk.report(Finding("directive-argument", message, hint))


def pragma_of_header(walk: Walk, node: Function) -> None:
    """Refuse between the parameters and the body of a function the pragmas that belong into the body."""
    for found in node.directives:
        value = next(iter(found.arguments), None) if found.name == "pragma" else None
        name = str(value).strip('"').partition(" ")[0] if value is not None else ""
        if name in _PRAGMAS_OF_BODIES:
            message, hint = f'the pragma "{name}" belongs into the body of a function', "move it below the {"
            walk.report(Finding("misplaced-directive", message, hint, word=".pragma"))


def only_ascii(walk: Walk, node: File | Pragma | Function) -> None:
    """Refuse strings with characters beyond ASCII, which ptxas doesn't read."""
    if isinstance(node, Function):
        texts: tuple[object, ...] = tuple(value for found in node.directives for value in found.arguments)
    else:
        texts = (node.name,) if isinstance(node, File) else node.values
    if isinstance(node, Pragma) and walk.routine is None:
        return  # which is no pragma of modules, and `pragma` says so
    if any(isinstance(text, str) and not text.isascii() for text in texts):
        message, hint = "a string has characters beyond ASCII, which ptxas doesn't read", "write ASCII characters"
        walk.report(Finding("directive-argument", message, hint))


def late_attribute(walk: Walk, node: Function | Variable) -> None:
    """Refuse `.align` and `.ptr` following a type, except in parameters of entries. The tree has no such order."""
    if node.raw is None or (isinstance(node, Function) and node.kind == "entry"):
        return
    text = own_text(node, node.raw) if isinstance(node, Function) else without_comments(node.raw[:_HEAD])
    found = _LATE_ATTRIBUTE.search(text)
    if found is not None and not (found[1] == "ptr" and isinstance(node, Function)):  # `declared_types` reports that
        message = f".{found[1]} stands behind the type, where only the parameters of an entry have it"
        hint = "write .align in front of the type" if found[1] == "align" else "remove it"
        walk.report(Finding("declaration", message, hint, word=f".{found[1]}"))


def empty(walk: Walk, node: Empty) -> None:  # noqa: ARG001 - every check takes its statement
    """Refuse a `;` behind nothing: ptxas knows no empty statement."""
    walk.report(Finding("empty-statement", "this ';' ends nothing", "remove it"))
