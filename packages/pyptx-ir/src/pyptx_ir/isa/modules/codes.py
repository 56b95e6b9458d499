"""Diagnostic codes: severity and meaning. The Markdown file of its name in `pages` explains each.

An error is rejected by ptxas or forbidden by the manual; a warning assembles, but is probably unintended.
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
    _code("syntax", ERROR, "text that is not PTX"),
    _code("outside-function", ERROR, "code outside any function"),
    _code("empty-statement", ERROR, "a ';' that ends nothing"),
    # The header
    _code("missing-version", ERROR, "a module does not begin with .version"),
    _code("missing-target", ERROR, "a module does not name its target"),
    _code("unknown-version", ERROR, "a PTX version that does not exist"),
    _code("newer-version", WARNING, "a PTX version that is newer than the instruction table"),
    _code("unknown-target", ERROR, "a target, or an option of .target, that does not exist"),
    _code("retired-target", WARNING, "a target that is older than the instruction table"),
    _code("target-version", ERROR, "a target that is newer than the module's version"),
    # Directives
    _code("misplaced-directive", ERROR, "a directive where it can't stand"),
    _code("directive-argument", ERROR, "a directive with wrong numbers"),
    _code("directive-conflict", ERROR, "directives that exclude or need each other"),
    _code("ignored-directive", WARNING, "a directive that ptxas ignores"),
    # Names
    _code("undefined-register", ERROR, "a register that is not declared where it is used"),
    _code("undefined-variable", ERROR, "a name that is not declared where it is used"),
    _code("undefined-label", ERROR, "a branch to a label that can't be seen from there"),
    _code("undefined-function", ERROR, "a function that is not declared above its use"),
    _code("redefined-register", ERROR, "a register declared twice in one scope"),
    _code("redefined-variable", ERROR, "a variable or parameter declared twice in one scope"),
    _code("redefined-label", ERROR, "a label that stands twice in one scope, or is also something else"),
    _code("redefined-function", ERROR, "a function defined twice, or declared differently each time"),
    _code("redefined-file", ERROR, "two .file directives of one number"),
    # Declarations
    _code("declaration", ERROR, "a type, vector, alignment or size that the state space can't hold"),
    _code("initializer", ERROR, "an initialiser of the wrong shape or type, or where there can't be one"),
    _code("section-data", ERROR, "data of a debugging section that its type can't hold"),
    _code("constant-memory", ERROR, "more than 64 KiB of constants"),
    # Functions and memory
    _code("call-target", ERROR, "a call of an entry"),
    _code("call-arguments", ERROR, "a call with the wrong number of arguments or return values"),
    _code("call-argument", ERROR, "an argument of another size or kind than the parameter"),
    _code("parameter-space", ERROR, "more parameters than a launch can pass"),
    _code("parameter-write", ERROR, "a store into an input parameter"),
    _code("parameter-bounds", WARNING, "an access beyond the end of a parameter"),
    _code("parameter-alignment", WARNING, "an access that a parameter is not aligned for"),
    _code("shared-memory", ERROR, "more static shared memory than the target has"),
    # Control
    _code("guard", ERROR, "a guard that is no predicate register"),
    _code("unreachable", WARNING, "an instruction that control never reaches"),
    _code("cta-group", ERROR, "tcgen05 for single CTAs and for pairs in one kernel"),
    _code("ignored-setmaxnreg", WARNING, "a setmaxnreg that ptxas drops"),
    # Instructions
    _code("unknown-instruction", WARNING, "an instruction that the table does not know"),
    _code("modifier", ERROR, "a modifier that the instruction does not have, or not with the others"),
    _code("missing-modifier", ERROR, "an instruction without a modifier that it needs"),
    _code("operand-count", ERROR, "too few or too many operands"),
    _code("operand-kind", ERROR, "a register, literal, address or vector where another of them belongs"),
    _code("operand-type", ERROR, "a register or literal of another type than the instruction's"),
    _code("vector-length", ERROR, "a vector of the wrong number of elements"),
    _code("immediate-range", ERROR, "a constant outside its range"),
    _code("address-space", ERROR, "a variable in another state space than the instruction's"),
    _code("target", ERROR, "what the target does not have"),
    _code("version", ERROR, "what the module's PTX version does not have yet"),
    _code("removed", ERROR, "what the module's PTX version no longer has"),
)


@until_plugins_change(maxsize=1)
def codes() -> dict[str, CheckCode]:
    """Return all codes by name, those above and those of plugins."""
    from pyptx_ir.plugins.manager import manager

    return {code.name: code for code in manager().check_codes()}
