"""Diagnostic codes: severity and meaning. `docs/check-codes.md` explains each with an example.

An error is rejected by ptxas or forbidden by the manual; a warning assembles, but is probably unintended.
"""

from __future__ import annotations

from pyptx_ir.isa.check_rows import CheckCode
from pyptx_ir.isa.modules.diagnostic import ERROR, WARNING
from pyptx_ir.plugins.caches import until_plugins_change

CODES: tuple[CheckCode, ...] = (
    CheckCode("syntax", ERROR, "text that is not PTX"),
    CheckCode("outside-function", ERROR, "code outside any function"),
    CheckCode("empty-statement", ERROR, "a ';' that ends nothing"),
    # The header
    CheckCode("missing-version", ERROR, "a module does not begin with .version"),
    CheckCode("missing-target", ERROR, "a module does not name its target"),
    CheckCode("unknown-version", ERROR, "a PTX version that does not exist"),
    CheckCode("newer-version", WARNING, "a PTX version that is newer than the instruction table"),
    CheckCode("unknown-target", ERROR, "a target, or an option of .target, that does not exist"),
    CheckCode("retired-target", WARNING, "a target that is older than the instruction table"),
    CheckCode("target-version", ERROR, "a target that is newer than the module's version"),
    # Directives
    CheckCode("misplaced-directive", ERROR, "a directive where it can't stand"),
    CheckCode("directive-argument", ERROR, "a directive with wrong numbers"),
    CheckCode("directive-conflict", ERROR, "directives that exclude or need each other"),
    CheckCode("ignored-directive", WARNING, "a directive that ptxas ignores"),
    # Names
    CheckCode("undefined-register", ERROR, "a register that is not declared where it is used"),
    CheckCode("undefined-variable", ERROR, "a name that is not declared where it is used"),
    CheckCode("undefined-label", ERROR, "a branch to a label that can't be seen from there"),
    CheckCode("undefined-function", ERROR, "a function that is not declared above its use"),
    CheckCode("redefined-register", ERROR, "a register declared twice in one scope"),
    CheckCode("redefined-variable", ERROR, "a variable or parameter declared twice in one scope"),
    CheckCode("redefined-label", ERROR, "a label that stands twice in one scope, or is also something else"),
    CheckCode("redefined-function", ERROR, "a function defined twice, or declared differently each time"),
    CheckCode("redefined-file", ERROR, "two .file directives of one number"),
    # Declarations
    CheckCode("declaration", ERROR, "a type, vector, alignment or size that the state space can't hold"),
    CheckCode("initializer", ERROR, "an initialiser of the wrong shape or type, or where there can't be one"),
    CheckCode("section-data", ERROR, "data of a debugging section that its type can't hold"),
    CheckCode("constant-memory", ERROR, "more than 64 KiB of constants"),
    # Functions and memory
    CheckCode("call-target", ERROR, "a call of an entry"),
    CheckCode("call-arguments", ERROR, "a call with the wrong number of arguments or return values"),
    CheckCode("call-argument", ERROR, "an argument of another size or kind than the parameter"),
    CheckCode("parameter-space", ERROR, "more parameters than a launch can pass"),
    CheckCode("parameter-write", ERROR, "a store into an input parameter"),
    CheckCode("parameter-bounds", WARNING, "an access beyond the end of a parameter"),
    CheckCode("parameter-alignment", WARNING, "an access that a parameter is not aligned for"),
    CheckCode("shared-memory", ERROR, "more static shared memory than the target has"),
    # Control
    CheckCode("guard", ERROR, "a guard that is no predicate register"),
    CheckCode("unreachable", WARNING, "an instruction that control never reaches"),
    CheckCode("cta-group", ERROR, "tcgen05 for single CTAs and for pairs in one kernel"),
    CheckCode("ignored-setmaxnreg", WARNING, "a setmaxnreg that ptxas drops"),
    # Instructions
    CheckCode("unknown-instruction", WARNING, "an instruction that the table does not know"),
    CheckCode("modifier", ERROR, "a modifier that the instruction does not have, or not with the others"),
    CheckCode("missing-modifier", ERROR, "an instruction without a modifier that it needs"),
    CheckCode("operand-count", ERROR, "too few or too many operands"),
    CheckCode("operand-kind", ERROR, "a register, literal, address or vector where another of them belongs"),
    CheckCode("operand-type", ERROR, "a register or literal of another type than the instruction's"),
    CheckCode("vector-length", ERROR, "a vector of the wrong number of elements"),
    CheckCode("immediate-range", ERROR, "a constant outside its range"),
    CheckCode("address-space", ERROR, "a variable in another state space than the instruction's"),
    CheckCode("target", ERROR, "what the target does not have"),
    CheckCode("version", ERROR, "what the module's PTX version does not have yet"),
    CheckCode("removed", ERROR, "what the module's PTX version no longer has"),
)


@until_plugins_change(maxsize=1)
def codes() -> dict[str, CheckCode]:
    """Return all codes by name, those above and those of plugins."""
    from pyptx_ir.plugins.manager import manager

    return {code.name: code for code in manager().check_codes()}
