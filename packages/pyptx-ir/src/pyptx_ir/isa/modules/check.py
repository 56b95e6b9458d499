"""Check whole PTX modules and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.collector import collector_paused
from pyptx_ir.isa.modules.checks import every_check
from pyptx_ir.isa.modules.diagnostic import ERROR, Diagnostic
from pyptx_ir.isa.modules.directives import early
from pyptx_ir.isa.modules.findings import located
from pyptx_ir.isa.modules.header import read_header
from pyptx_ir.isa.modules.known_forms import right_forms
from pyptx_ir.isa.modules.special import early_registers
from pyptx_ir.isa.modules.walk import Walk
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax.cursor import BYTE_ORDER_MARK
from pyptx_ir.syntax.emitter import emit
from pyptx_ir.syntax.nodes import Version, trivia_of
from pyptx_ir.syntax.parser import parse_recovering
from pyptx_ir.syntax.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_ir.isa.modules.findings import Finding
    from pyptx_ir.syntax.errors import PtxSyntaxError
    from pyptx_ir.syntax.nodes import Module, Statement


def check_module(module: Module, target: str | None = None) -> tuple[Diagnostic, ...]:
    """Return all errors and warnings of a module, in text order.

    The target is the module's `.target`, or `target` if given; the version is that of its `.version`. Lines are those
    of `emit(module)`. Raises TargetError for an unknown `target`.
    """
    found = findings_in(module, target)
    if not found:
        return ()
    return _sorted(located(found, module, Source(emit(module))))


def check_text(text: str, name: str = "<string>", target: str | None = None) -> tuple[Diagnostic, ...]:
    """Parse and check a text; after a syntax error, the other statements are still checked."""
    with collector_paused():
        # The module's tree is freed before the garbage collector resumes and visits it.
        return _check_text(text, name, target)


def _check_text(text: str, name: str, target: str | None) -> tuple[Diagnostic, ...]:
    module, errors = parse_recovering(text, name)
    if text.startswith(BYTE_ORDER_MARK):  # a byte order mark hides the module header, which causes more errors
        return (_syntax(errors[0]),)
    found = findings_in(module, target)
    source = Source(text, name)
    return _sorted([*map(_syntax, errors), *(located(found, module, source) if found else ())])


def findings_in(module: Module, target: str | None) -> list[tuple[int, Finding]]:
    """Return the findings of all rules on a module, each with the number of its statement."""
    if target is not None:
        find_target(target)
    found: list[tuple[int, Finding]] = []
    at = -1
    checks = every_check()
    for statements in _modules(module):
        walk = Walk(checks, target)
        walk.at = at
        prepare(walk, statements)
        walk.body(statements)
        for check in checks.of_module:
            check(walk)
        found += walk.found
        at = walk.at
    return found


def prepare(walk: Walk, statements: Sequence[Statement]) -> None:
    """Set the version and the target of a walk from the first statements of a module."""
    walk.header_end = walk.at + 1 + read_header(walk, statements)
    if walk.target is not None:
        walk.right = right_forms(walk.target, walk.judged_version)
    walk.early = early(walk.target, walk.judged_version)
    walk.early_registers = early_registers(walk.target, walk.judged_version)


def _modules(module: Module) -> Iterator[Sequence[Statement]]:
    """Yield the statements of each module; a cuobjdump listing has several, each after a heading."""
    body = module.body
    starts = [0]
    starts += [i for i, node in enumerate(body) if i and isinstance(node, Version) and " code:\n" in trivia_of(node)]
    for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
        yield body[start:end]


def _syntax(error: PtxSyntaxError) -> Diagnostic:
    return Diagnostic(error.line, error.column, ERROR, "syntax", error.message, error.help or "", error.span)


def _sorted(found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(found, key=lambda one: (one.line, one.column)))
