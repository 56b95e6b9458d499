"""Reviewed differences between `pyptx check` and ptxas in declarations, each with its reason.

Each key of the dictionaries is a regular expression, searched in `KIND | SNIPPET | MESSAGE OF THE CHECK` (empty where
the check accepts).
"""

from __future__ import annotations

STRICTER: dict[str, str] = {
    r"has more than 64 bits$": "the manual has 64-bit integer constants; ptxas silently truncates longer ones",
    r"\.align WARP_SZ|<WARP_SZ>": (
        "the manual requires integers as alignments and counts; pyptx does not parse WARP_SZ in their place"
    ),
    r"\.(samplerref|texref|surfref) \w+\[4\]": ("ptxas accepts arrays of opaque types everywhere, and ignores them"),
    r"\.e[45]m[23](x2)? \w+\[4\]": "ptxas accepts an unused array of a type that registers and variables cannot have",
    r"^initializer \| \.global \.f16x2 v = \{": (
        "ptxas accepts an initializer in braces for .f16x2, which has no literals"
    ),
    r"filter_mode = wrap": (
        "the manual has filter_mode nearest or linear; ptxas also accepts the values of other sampler fields"
    ),
    r"^\w+ \| \.(global|reg) \.b32; ": "ptxas accepts a declaration without a name; the manual does not have this form",
    r"^header \| \.target (sm_90b|compute_90a) ": "ptxas ignores an unknown target",
    r"^body \| \.target sm_90a ": (
        "ptxas accepts .target inside functions; the manual requires it at the beginning of a module"
    ),
    r"^module \| \.extern \.func ": "ptxas does not check the parameter types of an external function",
    r"^module \| .*control character": "ptxas reads the character 0x1a as a blank",
    r"^section \| \.b(8|16) (4294967296|18446744073709551616) ": (
        "ptxas truncates numbers in sections to 32 bits before it checks their range"
    ),
}
LAXER: dict[str, str] = {
    r"\.(maxntid|reqntid) 4294967295": "ptxas crashes if .maxntid or .reqntid is the largest 32-bit number",
    r"\.align 2147483648 ": "ptxas runs out of memory for large alignments, from a limit that differs between releases",
    r"^entry-directive \| \.pragma \"nounroll\", \"used": (
        "the table does not list which pragmas are allowed only inside functions"
    ),
    r"^func-directive \| \.pragma": (
        "ptxas accepts pragmas in headers of entries only, the manual in headers of functions, too"
    ),
    r"^variable \| \.extern \.\w+ \.b32 v\[\]; ": "the linker, not the check, resolves external names",
    r"\.unified\(": "a variable at a unified address requires linking; ptxas requires --compile-only",
    r"^body \| \.\w+ \.reg \.b32 v": (
        "the syntax tree does not represent linking directives of registers, so the check does not refuse them"
    ),
    r"^body \| x: \.callprototype ": "a prototype is checked only at calls through it",
    r"^header \| .*\bdebug\b": "pyptx check does not check whether a .target debug module has DWARF sections",
    r"^header \| .*address_size 32": "ptxas parses 32-bit addresses, but does not support them on any target",
    r"^module \| \.section \.(reg|b32|add) ": (
        "the table does not list the PTX keywords that ptxas refuses as section names"
    ),
    r"^body \| \.local \.align 2147483648": "ptxas does not support a stack alignment of 2^31 bytes",
}
