"""What the machine executes in a loop of a kernel, read from its disassembly."""

from __future__ import annotations

import re
from collections import Counter

_LINE = re.compile(r"^\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_BRANCH = re.compile(r"\bBRA\b.*`\((\.L_x_\d+)\)")


def loop_with(sass: str, opcode: str) -> tuple[str, ...]:
    """Return the opcodes of the smallest loop that has `opcode` in it, from its label to the branch back to it."""
    lines = sass.splitlines()
    labels = {found[1]: number for number, line in enumerate(lines) if (found := _LABEL.match(line))}
    spans = [
        (labels[found[1]], number)
        for number, line in enumerate(lines)
        if (found := _BRANCH.search(line)) and labels.get(found[1], number) < number
    ]
    loops = [tuple(found[1] for line in lines[a : b + 1] if (found := _LINE.match(line))) for a, b in sorted(spans)]
    return min((loop for loop in loops if kinds(loop)[opcode]), key=len)


def kinds(opcodes: tuple[str, ...]) -> Counter[str]:
    """Count opcodes without their modifiers: `UTMALDG` for `UTMALDG.2D.MULTICAST`."""
    return Counter(opcode.split(".")[0] for opcode in opcodes)
