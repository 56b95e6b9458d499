"""Reviewed mutants on which `pyptx check` and ptxas differ, each with its reason.

Each key of the dictionaries is a regular expression, searched in `KIND OF CHANGE | CHANGED LINE | MESSAGE`: the message
of ptxas if the check accepts, the message of the check if ptxas accepts.
"""

from __future__ import annotations

MISSED: dict[str, str] = {
    r"Not a name of any known instruction": "an unknown instruction may belong to a newer PTX, so it is a warning",
    r"32-Bit (compilation|ABI).* (is no longer|is not) supported": "a limit of this ptxas release, not of PTX",
    r"is not allowed for per-function compilation": (
        "an option of the ptxas command line causes this refusal, not the text"
    ),
    r"Arguments mismatch for instruction 'setp'": (
        "pyptx check does not detect a vector register in place of a scalar"
    ),
    r"Unsupported \.version": "a version newer than the table is a warning",
    r"\| exit status -11$": "ptxas crashes on a call argument whose address is in a register",
    r"without corresponding call|Function call sequence invalid": (
        "pyptx check does not determine to which call an argument belongs"
    ),
    r"^name of another line \| (?!call)\w+ \w+, \(.*Parsing error": (
        "the operands of an unknown instruction are not checked"
    ),
    r"is allowed only within function scope": "the table does not list which pragmas are allowed only inside functions",
    r"\| \.\w+ \.func .*Parsing error near '\{'": (
        "ptxas accepts pragmas in headers of entries only, the manual in headers of functions, too"
    ),
    r"^type \| .*In ABI compilation": "for relocatable code, ptxas also compiles functions that no kernel calls",
    r"used in function_name attribute": "ptxas resolves only one of several labels at one position",
    r"specified for \.pragma": "the arguments of a pragma are not checked",
}
STRICTER: dict[str, str] = {
    r"\| immediate-range: .* it must be (-\d+ to (255|65535|4294967295|1844\d+)|0 to 15|0 to 1024 in steps of 32) ": (
        "ptxas silently truncates a constant that does not fit the type or the field of the instruction"
    ),
    r"\| undefined-function: '(vprintf|malloc|free|__assertfail)' ": (
        "ptxas provides some system functions, which do not require .extern"
    ),
    r"^register component .*\| operand-(kind|type): .*(a list in brackets|a vector of|not a pair)": (
        "ptxas accepts components of vector registers as elements of a vector"
    ),
    r"\| operand-kind: .* is a symbol; it must be a \.b32 or \.u32": (
        "ptxas accepts the address of a variable as a 32-bit number, and truncates it"
    ),
    r"^name of another line \| .*\| operand-kind: .* is a symbol; ": (
        "ptxas accepts the name of a function as a number of any type; by the manual, only mov takes its address"
    ),
    r"\| operand-type: .* is an address in a \.[bsu](8|16) register; ": (
        "ptxas accepts addresses in narrow registers; by the manual, an address has 32 or 64 bits"
    ),
    r"\| operand-type: operand 2 of mov\.f(32|64), .* is a symbol": "ptxas accepts an address as the bits of a float",
    r"^state space \| \.\w+ .*\| operand-kind: .*a vector of \d": (
        "ptxas accepts addresses as elements that mov packs into a number"
    ),
    r"\| missing-modifier: testp\.f\d\d lacks": ("ptxas accepts testp without the property to test"),
    r"\| operand-type: .* a list in brackets; it must be a vector of \d coordinates": (
        "ptxas accepts any literal as a tensor coordinate"
    ),
    r"\| operand-type: operand 2 of tex\.a\w+\.": (
        "ptxas does not check the types of the coordinates after the layer of an array"
    ),
    r"\| missing-modifier: wgmma\S* lacks a modifier: \.aligned": "ptxas accepts wgmma without .aligned",
    r"^name of another line \| %\w+: \| redefined-label": (
        "ptxas accepts a label with the name of a register of a group, but no branch to it"
    ),
    r"^line moved \| .*redefined-function": "ptxas accepts a declaration of a function inside that function",
    r"\| syntax: ": "ptxas accepts a prototype without `;`, and continues after a statement without its end",
}
