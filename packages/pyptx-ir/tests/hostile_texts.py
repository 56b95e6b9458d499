"""Texts that are hard for a careless parser or checker: deep nesting, endless tokens, thousands of equal mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .modules_broken import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable

OPEN = f"{HEAD}.entry k() {{\n.reg .b32 %r<9>;\n"


def each(count: int, line: Callable[[int], str]) -> str:
    """Return a PTX function with the lines `line(0)` to `line(count - 1)`."""
    return OPEN + "".join(map(line, range(count))) + "ret;\n}\n"


# PTX with one construct nested deeper than any compiler emits: text before, opening and closing token, text after.
DEEP: dict[str, tuple[str, str, str, str]] = {
    "addresses": ("ld.b32 %r1, ", "[", "]", ";"),
    "addresses in address offsets": ("ld.b32 %r1, ", "[%r1+", "]", ";"),
    "vectors": ("mov.b32 %r1, ", "{", "}", ";"),
    "nested vectors in an address offset": ("ld.b32 %r1, [x+", "{", "}", "];"),
    "addresses in vectors": ("ld.b32 %r1, ", "{[", "]}", ";"),
    "parentheses": ("mov.b32 %r1, ", "(", ")", ";"),
    "lists of a call": ("call ", "(", ")", ", f;"),
    "signs": ("mov.b32 %r1, ", "- ", "", ";"),
    "casts": ("mov.b32 %r1, ", "(.s64)", "", ";"),
    "sums": ("mov.b32 %r1, ", "1 + ", "", ";"),
    "choices": ("mov.b32 %r1, ", "1 ? 2 : ", "", ";"),
    "indices": ("mov.b32 %r1, ", "x[", "]", ";"),
    "pairs": ("mov.b32 %r1, ", "%p1|", "", ";"),
    "initializers": (".shared .b32 x[1] = ", "{", "}", ";"),
    "dimensions": (".shared .b32 x[", "(", ")", "];"),
    "blocks": ("", "{", "}", ""),
}


def deep(name: str, levels: int) -> str:
    """Return a PTX function with one statement, nested `levels` deep."""
    before, opening, closing, after = DEEP[name]
    inside = "" if name == "blocks" else "1"
    return f"{OPEN}{before}{opening * levels}{inside}{closing * levels}{after}\nret;\n}}\n"


# Each text must be checked within a second; a checker with quadratic cost took over a minute for most of them.
LONG: dict[str, Callable[[], str]] = {
    "unclosed comments": lambda: "/* a " * 16_000,
    "an unclosed comment in a function": lambda: OPEN + "/* a " * 16_000,
    "modifiers": lambda: f"{OPEN}add{'.s32' * 8000} %r1, %r1, %r1;\n}}",
    "modifiers with blanks": lambda: f"{OPEN}mov.b32 {'.b8 ' * 100_000};\n}}",
    "many section data lines on one text line": lambda: f"{HEAD}.section .debug_info {{\n{'.b8 111' * 6000}\n}}\n",
    "entries": lambda: HEAD + "".join(f".entry k{i}() {{ ret; }}\n" for i in range(4000)),
    "entries that call": lambda: (
        f"{HEAD}.func f() {{ ret; }}\n" + "".join(f".entry k{i}() {{ call f; ret; }}\n" for i in range(4000))
    ),
    "unknown registers": lambda: each(5000, lambda i: f"add.s32 %q{i}, %q{i + 1}, %z{i};\n"),
    "unknown names": lambda: each(2000, lambda i: f"mov.b32 %r1, name{i}x;\n"),
    "many undeclared operands of one instruction": lambda: f"{OPEN}foo {', '.join(f'n{i}x' for i in range(5000))};\n}}",
    "unknown labels": lambda: each(5000, lambda i: f"bra L{i}_;\n"),
    "unknown targets": lambda: f"{OPEN}t: .branchtargets {', '.join(f'L{i}_' for i in range(10_000))};\n}}",
    "unknown instructions": lambda: each(2000, lambda i: f"fo{i}.b32 %r1;\n"),
    "unknown modifiers": lambda: each(2000, lambda i: f"add.s32.q{i} %r1, %r1, %r1;\n"),
    "unknown directives": lambda: "".join(f".foo{i} 3;\n" for i in range(2000)),
    "banks of registers": lambda: each(8000, lambda i: f".reg .b32 %a{i}<9>;\n"),
    "one register range declared repeatedly": lambda: each(5000, lambda _: ".reg .b32 %r<9>;\n"),
    "blocks": lambda: each(5000, lambda i: f"{{ .reg .b32 t{i}; mov.b32 t{i}, 1; }}\n"),
    "long names": lambda: each(200, lambda i: f"mov.b32 %r1, {'a' * 2000}{i};\n"),
}
