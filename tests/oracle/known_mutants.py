"""The reviewed list of mutants that the check and ptxas see differently, each with its reason.

A key is a regular expression, searched in `KIND OF CHANGE | CHANGED LINE | WHAT IS SAID`: by ptxas about what the check
misses, by the check about what ptxas takes.
"""

from __future__ import annotations

MISSED: dict[str, str] = {
    r"Not a name of any known instruction": "a word that no table knows may be one of a newer PTX: a warning",
    r"32-Bit (compilation|ABI).* (is no longer|is not) supported": "a limit of this ptxas, not of PTX",
    r"is not allowed for per-function compilation": "goes with an option of the run, not with the text",
    r"Arguments mismatch for instruction 'setp'": "a whole vector register where one number belongs: its kind is open",
    r"Unsupported \.version": "a version that is newer than the table is a warning",
    r"\| exit status -11$": "ptxas dies on a call's argument whose address is in a register",
    r"without corresponding call|Function call sequence invalid": "which call an argument belongs to is not followed",
    r"^name of another line \| (?!call)\w+ \w+, \(.*Parsing error": (
        "the operands of an unknown instruction are not checked"
    ),
    r"is allowed only within function scope": "which pragmas belong inside functions is not listed",
    r"\| \.\w+ \.func .*Parsing error near '\{'": (
        "ptxas has pragmas in the headers of entries alone, the manual in both"
    ),
    r"^type \| .*In ABI compilation": "asked for linkable code, ptxas compiles what no kernel calls, too",
    r"used in function_name attribute": "ptxas knows only one of the labels that stand at one place",
    r"specified for \.pragma": "the words after the name of a pragma are not checked",
}
STRICTER: dict[str, str] = {
    r"\| immediate-range: .* it must be (-\d+ to (255|65535|4294967295|1844\d+)|0 to 15|0 to 1024 in steps of 32) ": (
        "ptxas truncates a constant that the type, or the field of the instruction, can't hold, in silence"
    ),
    r"\| undefined-function: '(vprintf|malloc|free|__assertfail)' ": (
        "ptxas brings some functions of the system itself, and they need no .extern"
    ),
    r"^register component .*\| operand-(kind|type): .*(a list in brackets|a vector of|not a pair)": (
        "ptxas overlooks parts of registers that stand in braces"
    ),
    r"\| operand-kind: .* is a symbol; it must be a \.b32 or \.u32": (
        "ptxas takes the address of a variable for a number of 32 bits, and truncates it"
    ),
    r"\| operand-type: operand 2 of mov\.f(32|64), .* is a symbol": "ptxas takes an address for the bits of a float",
    r"^state space \| \.\w+ .*\| operand-kind: .*a vector of \d": "ptxas takes addresses for the parts of a number",
    r"\| missing-modifier: testp\.f\d\d lacks": "ptxas takes testp without the property that it tests",
    r"\| operand-type: .* a list in brackets; it must be a vector of \d coordinates": (
        "ptxas takes any literal for the coordinate of a tensor"
    ),
    r"\| operand-type: operand 2 of tex\.a\w+\.": (
        "ptxas does not check the types of coordinates after the layer of an array"
    ),
    r"\| missing-modifier: wgmma\S* lacks a modifier: \.aligned": "ptxas takes wgmma without it",
    r"^name of another line \| %\w+: \| redefined-label": (
        "ptxas takes a label by the name of a register out of several, and then no branch to it"
    ),
    r"^line moved \| .*redefined-function": "ptxas takes a declaration of a function inside the function",
    r"\| syntax: ": "ptxas takes a prototype without its ';', and reads on where a statement lacks its end",
}
