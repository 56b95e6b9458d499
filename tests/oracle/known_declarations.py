"""The reviewed list of what the check and ptxas see differently in declarations, each with its reason.

A key is a regular expression, searched in `KIND | SNIPPET | WHAT THE CHECK SAYS` (nothing where it accepts).
"""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"has more than 64 bits$": "the manual: integer constants have 64 bits; ptxas truncates longer ones silently",
    r"\.align WARP_SZ|<WARP_SZ>": "the manual: alignments and counts are integers; the parser takes no constant's name",
    r"\.(samplerref|texref|surfref) \w+\[4\]": (
        "ptxas lets arrays of opaque types stand anywhere, and makes nothing of them"
    ),
    r"\.e[45]m[23](x2)? \w+\[4\]": "ptxas takes an array of a type that no register or variable has, unused",
    r"^initializer \| \.global \.f16x2 v = \{": "ptxas takes braces in front of the type, for which it has no literals",
    r"filter_mode = wrap": "the manual: a filter is nearest or linear; ptxas takes the word of any field",
    r"^\w+ \| \.(global|reg) \.b32; ": "ptxas takes a declaration of nothing; the manual has no such form",
    r"^header \| \.target (sm_90b|compute_90a) ": "ptxas ignores a target that it does not know",
    r"^body \| \.target sm_90a ": "ptxas takes .target inside functions; the manual: at the beginning of a module",
    r"^module \| \.extern \.func ": "ptxas does not look at the types of an external function's parameters",
    r"^module \| .*control character": "ptxas takes the character 0x1a for a blank",
    r"^section \| \.b(8|16) (4294967296|18446744073709551616) ": (
        "ptxas cuts numbers to 32 bits before it looks at them"
    ),
}
LAXER: dict[str, str] = {
    r"\.(maxntid|reqntid) 4294967295": "ptxas dies on the largest number instead of refusing it",
    r"\.align 2147483648 ": "ptxas runs out of memory, release by release differently",
    r"^entry-directive \| \.pragma \"nounroll\", \"used": "which pragmas belong inside functions is not listed",
    r"^func-directive \| \.pragma": ("ptxas has pragmas in the headers of entries alone, the manual in both"),
    r"^variable \| \.extern \.\w+ \.b32 v\[\]; ": "an unresolved name is the linker's to find",
    r"\.unified\(": "a variable at a unified address is for the linker; ptxas asks for --compile-only",
    r"^body \| \.\w+ \.reg \.b32 v": "the tree has no linking of registers to refuse",
    r"^body \| x: \.callprototype ": "a prototype is checked by the calls through it",
    r"^header \| .*\bdebug\b": "whether debug information is there, and is DWARF, is not looked at",
    r"^header \| .*address_size 32": "ptxas reads addresses of 32 bits, and has no code for them on any device",
    r"^module \| \.section \.(reg|b32|add) ": "the words of PTX that ptxas refuses as section names are not listed",
    r"^body \| \.local \.align 2147483648": "ptxas has no stack of that alignment",
}
