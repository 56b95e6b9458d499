"""The codes of diagnostics: how bad each is, and what it means. `docs/checking.md` explains each with an example.

An error is what ptxas refuses or the manual forbids; a warning is what assembles and is hardly meant.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from pyptx_ir.isa.modules.diagnostic import ERROR, WARNING


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of mistake."""

    name: str
    severity: str
    meaning: str


CODES: tuple[Code, ...] = (
    Code("syntax", ERROR, "text that is not PTX"),
    Code("outside-function", ERROR, "code outside any function"),
    Code("empty-statement", ERROR, "a ';' that ends nothing"),
    # The header
    Code("missing-version", ERROR, "a module does not begin with .version"),
    Code("missing-target", ERROR, "a module does not name its target"),
    Code("unknown-version", ERROR, "a PTX version that does not exist"),
    Code("newer-version", WARNING, "a PTX version that is newer than the instruction table"),
    Code("unknown-target", ERROR, "a target, or an option of .target, that does not exist"),
    Code("retired-target", WARNING, "a target that is older than the instruction table"),
    Code("target-version", ERROR, "a target that is newer than the module's version"),
    # Directives
    Code("misplaced-directive", ERROR, "a directive where it can't stand"),
    Code("directive-argument", ERROR, "a directive with wrong numbers"),
    Code("directive-conflict", ERROR, "directives that exclude or need each other"),
    Code("ignored-directive", WARNING, "a directive that ptxas ignores"),
    # Names
    Code("undefined-register", ERROR, "a register that is not declared where it is used"),
    Code("undefined-variable", ERROR, "a name that is not declared where it is used"),
    Code("undefined-label", ERROR, "a branch to a label that can't be seen from there"),
    Code("undefined-function", ERROR, "a function that is not declared above its use"),
    Code("redefined-register", ERROR, "a register declared twice in one scope"),
    Code("redefined-variable", ERROR, "a variable or parameter declared twice in one scope"),
    Code("redefined-label", ERROR, "a label that stands twice in one scope, or is also something else"),
    Code("redefined-function", ERROR, "a function defined twice, or declared differently each time"),
    Code("redefined-file", ERROR, "two .file directives of one number"),
    # Declarations
    Code("declaration", ERROR, "a type, vector, alignment or size that the state space can't hold"),
    Code("initializer", ERROR, "an initialiser of the wrong shape or type, or where there can't be one"),
    Code("section-data", ERROR, "data of a debugging section that its type can't hold"),
    Code("constant-memory", ERROR, "more than 64 KiB of constants"),
    # Functions and memory
    Code("call-target", ERROR, "a call of an entry"),
    Code("call-arguments", ERROR, "a call with the wrong number of arguments or return values"),
    Code("call-argument", ERROR, "an argument of another size or kind than the parameter"),
    Code("parameter-space", ERROR, "more parameters than a launch can pass"),
    Code("parameter-write", ERROR, "a store into an input parameter"),
    Code("parameter-bounds", WARNING, "an access beyond the end of a parameter"),
    Code("parameter-alignment", WARNING, "an access that a parameter is not aligned for"),
    Code("shared-memory", ERROR, "more static shared memory than the target has"),
    # Control
    Code("guard", ERROR, "a guard that is no predicate register"),
    Code("unreachable", WARNING, "an instruction that control never reaches"),
    Code("cta-group", ERROR, "tcgen05 for single CTAs and for pairs in one kernel"),
    Code("ignored-setmaxnreg", WARNING, "a setmaxnreg that ptxas drops"),
    # Instructions
    Code("unknown-instruction", WARNING, "an instruction that the table does not know"),
    Code("modifier", ERROR, "a modifier that the instruction does not have, or not with the others"),
    Code("missing-modifier", ERROR, "an instruction without a modifier that it needs"),
    Code("operand-count", ERROR, "too few or too many operands"),
    Code("operand-kind", ERROR, "a register, literal, address or vector where another of them belongs"),
    Code("operand-type", ERROR, "a register or literal of another type than the instruction's"),
    Code("vector-length", ERROR, "a vector of the wrong number of elements"),
    Code("immediate-range", ERROR, "a constant outside its range"),
    Code("address-space", ERROR, "a variable in another state space than the instruction's"),
    Code("target", ERROR, "what the target does not have"),
    Code("version", ERROR, "what the module's PTX version does not have yet"),
    Code("removed", ERROR, "what the module's PTX version no longer has"),
)


@functools.cache
def codes() -> dict[str, Code]:
    """Return the codes by name."""
    return {code.name: code for code in CODES}
