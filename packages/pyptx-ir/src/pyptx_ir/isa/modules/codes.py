"""Diagnostic codes: severity and meaning. For each code, the Markdown file of its name in `pages` explains it.

Severity error: ptxas rejects the text or the manual forbids it. Severity warning: the text assembles, but is probably
unintended.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyptx_ir.isa.check_rows import CheckCode
from pyptx_ir.isa.modules.diagnostic import ERROR, WARNING
from pyptx_ir.plugins.caches import until_plugins_change

_PAGES: Final = Path(__file__).with_name("pages")


def _code(name: str, severity: str, meaning: str) -> CheckCode:
    return CheckCode(name, severity, meaning, _PAGES / f"{name}.md")


CODES: tuple[CheckCode, ...] = (
    _code("syntax", ERROR, "syntax error"),
    _code("outside-function", ERROR, "code outside any function"),
    _code("empty-statement", ERROR, "empty statement"),
    # Diagnostic codes for the module header
    _code("missing-version", ERROR, "missing .version directive"),
    _code("missing-target", ERROR, "missing .target directive"),
    _code("unknown-version", ERROR, "unknown PTX version"),
    _code("newer-version", WARNING, "PTX version newer than the instruction table"),
    _code("unknown-target", ERROR, "unknown target or .target option"),
    _code("retired-target", WARNING, "target no longer supported"),
    _code("target-version", ERROR, "target newer than the module's PTX version"),
    # Diagnostic codes for directives
    _code("misplaced-directive", ERROR, "directive not allowed at its position"),
    _code("directive-argument", ERROR, "invalid directive argument"),
    _code("directive-conflict", ERROR, "conflicting or missing directives"),
    _code("ignored-directive", WARNING, "directive ignored by ptxas"),
    # Diagnostic codes for names
    _code("undefined-register", ERROR, "register not declared in scope"),
    _code("undefined-variable", ERROR, "name of a variable, parameter or register not declared in scope"),
    _code("undefined-label", ERROR, "label not in scope"),
    _code("undefined-function", ERROR, "function not declared before its use"),
    _code("redefined-register", ERROR, "duplicate register in one scope"),
    _code("redefined-variable", ERROR, "duplicate variable or parameter in one scope"),
    _code("redefined-label", ERROR, "duplicate label"),
    _code("redefined-function", ERROR, "function defined twice, or declared differently"),
    _code("redefined-file", ERROR, "duplicate .file number"),
    # Diagnostic codes for declarations
    _code("declaration", ERROR, "invalid declaration for this state space"),
    _code("initializer", ERROR, "invalid initializer"),
    _code("section-data", ERROR, "section data out of range of its type"),
    _code("constant-memory", ERROR, "more than 64 KiB of .const variables"),
    # Diagnostic codes for functions and memory
    _code("call-target", ERROR, "callee is not a .func or a function pointer"),
    _code("call-arguments", ERROR, "wrong number of call arguments or return values"),
    _code("call-argument", ERROR, "call argument does not match the parameter"),
    _code("parameter-space", ERROR, "entry parameters exceed the launch limit"),
    _code("parameter-write", ERROR, "store to an input parameter"),
    _code("parameter-bounds", WARNING, "parameter access out of bounds"),
    _code("parameter-alignment", WARNING, "parameter access wider than the alignment of its address"),
    _code("shared-memory", ERROR, "static shared memory exceeds the target's limit"),
    # Diagnostic codes for control flow
    _code("guard", ERROR, "guard is not a predicate register"),
    _code("unreachable", WARNING, "unreachable instruction"),
    _code("cta-group", ERROR, "different tcgen05 .cta_group values in one kernel"),
    _code("ignored-setmaxnreg", WARNING, "setmaxnreg ignored by ptxas"),
    # Diagnostic codes for instructions
    _code("unknown-instruction", WARNING, "unknown instruction"),
    _code("modifier", ERROR, "invalid modifier, or invalid combination of modifiers"),
    _code("missing-modifier", ERROR, "missing modifier"),
    _code("operand-count", ERROR, "wrong number of operands"),
    _code("operand-kind", ERROR, "wrong operand kind"),
    _code("operand-type", ERROR, "wrong operand type"),
    _code("vector-length", ERROR, "wrong vector length"),
    _code("immediate-range", ERROR, "constant out of range"),
    _code("address-space", ERROR, "wrong state space"),
    _code("target", ERROR, "feature not supported on the module's target"),
    _code("version", ERROR, "feature not supported in the module's PTX version"),
    _code("removed", ERROR, "feature removed in the module's PTX version, or on its target"),
)


@until_plugins_change(maxsize=1)
def codes() -> dict[str, CheckCode]:
    """Return all diagnostic codes by name, built-in ones and those of plugins."""
    from pyptx_ir.plugins.manager import manager

    return {code.name: code for code in manager().check_codes()}
