"""The styles of known compilers and the canonical style, without comments: one row each."""

from __future__ import annotations

from pyptx_ir.syntax.style.style import Style

_CALLS = {
    **dict.fromkeys(("opcode w", "opcode %", ", (", ", w", ", %", ",(: , w"), " \n\t"),
    **dict.fromkeys((",(: ( w", ",(: w )", ",() ,"), "\n\t"),
}
_LOGIC = {name: {"opcode %": "  \t"} for name in ("and", "or", "xor")}
_OPERANDS = {"opcode %": " \t", "opcode w": " \t", "opcode {": " \t", "opcode [": " \t"}

KNOWN = {
    "canonical": Style(
        trivia={
            "*": "\n{indent}",
            "^ *": "",
            "* $": "\n",
            "* Label": "\n",
            "* Function": "\n\n",
            "RegisterDeclaration Instruction": "\n\n{indent}",
            "Variable Instruction": "\n\n{indent}",
            "AddressSize *": "\n\n",
            "body} *": "\n\n",
            "body} $": "\n",
        },
    ),
    # Style of NVVM, as in nvcc 12 and 13.
    "nvcc": Style(
        trivia={
            "*": "\n\t",
            "^ *": "",
            "* $": "\n\n",
            "* Target": "\n",
            "* AddressSize": "\n",
            "AddressSize *": "\n\n",
            "* Function": "\n",
            "* Declaration": "\n",
            "Variable Function": "\n\n",
            "AddressSize Function": "\n\n",
            "AddressSize Variable": "\n\n",
            "Variable Variable": "\n",
            "Variable .param": "\n\t",
            "* {": "\n\t",
            "* body{": "\n",
            "* Label": "\n\n",
            "Label Label": "\n",
            "bra Instruction": "\n\n\t",
            "RegisterDeclaration Instruction": "\n\n\t",
            "Variable Instruction": "\n\t",
            "{ RegisterDeclaration": "\n\t",
            "* CallPrototype": " ",
            "* body}": "\n\n",
            "Section *": "\n",
            "* SectionData": "\n",
        },
        gaps={
            "Instruction": _OPERANDS,
            "call": _CALLS,
            "redux": {"opcode %": " "},
            "mapa": {"opcode %": "\t"},
            "RegisterDeclaration": {". %": " \t"},
            "inner .reg": {". %": " "},
            "prototype": {"w :": " "},
            ".local": {". w": " \t"},
            "Declaration": {". (": "  ", "w (": "\n", ") ;": "\n"},
            "Function": {". (": "  "},
            "Loc": {". 0": "\t"},
            "File": {". 0": "\t"},
            "Section": {". .": "\t"},
            "SectionData": {", 0": ""},
            **_LOGIC,
        },
    ),
    # Style of LLVM's NVPTX back end, which clang, Triton and Numba use.
    "llvm": Style(
        trivia={
            "*": "\n\t",
            "^ *": "",
            "* $": "\n",
            "* Target": "\n",
            "* AddressSize": "\n",
            "AddressSize *": "\n\n",
            "* Function": "\n",
            "* Declaration": "\n",
            "Variable Variable": "\n",
            "Variable .param": "\n\t",
            "* body{": "\n",
            "* Label": "\n",
            "RegisterDeclaration Instruction": "\n\n\t",
            "* CallPrototype": " ",
            "* BranchTargets": " ",
            "* body}": "\n",
            "Section *": "\n",
            "* SectionData": "\n",
        },
        gaps={
            "Instruction": _OPERANDS,
            "call": {"opcode w": " "},
            "tcgen05.ld": {"opcode {": " "},
            "tcgen05.st": {"opcode [": " "},
            "RegisterDeclaration": {". %": " \t"},
            "inner .reg": {". %": " "},
            "prototype": {"w :": " "},
            ".local": {". w": " \t"},
            "Declaration": {". (": "  ", "w (": "\n", ") ;": "\n"},
            "Function": {". (": "  "},
            "Loc": {". 0": "\t"},
            "File": {". 0": "\t"},
            "Section": {". .": "\t"},
        },
    ),
}
