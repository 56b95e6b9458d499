"""Statements where they can't stand: code outside functions, debugging directives inside, a `;` that ends nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.syntax.nodes import File, Section

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Directive, Empty, Pragma, Statement

_PRAGMAS_OF_MODULES = frozenset({"nounroll"})


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
    """Refuse what belongs into the header of a function anywhere else."""
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


def empty(walk: Walk, node: Empty) -> None:  # noqa: ARG001 - every check takes its statement
    """Refuse a `;` behind nothing: ptxas knows no empty statement."""
    walk.report(Finding("empty-statement", "this ';' ends nothing", "remove it"))
