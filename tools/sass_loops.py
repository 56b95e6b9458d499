"""The loops of a kernel's machine code, out of what nvdisasm prints.

A loop is a natural loop of the control flow: a branch goes back to a block that every way into the branch has passed;
the loop's body is what reaches the branch without leaving through that block. The *main* loop is the one in which the
work is done: of the loops that hold matrix products, without a loop inside that holds some too, the one that holds
most; in a kernel without matrix products, the same for accesses of memory. A loop that only waits is never the main
one, and what ptxas wraps around one instruction whose operands must be uniform, a turn for each different value of its
lanes (`BRA.U.ANY`), is no loop.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import networkx as nx
from tools.back_edges import back_edges, flow_graph

_LABEL = re.compile(r"^\s*(\.L[\w.]*|\$[\w.$]+|[A-Za-z_][\w.$]*):\s*$")
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]+\*/\s+(?P<guard>@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>[^;]*);"
)
_TARGET = re.compile(r"`\((?P<label>[^)]+)\)")
_TABLE = re.compile(r"BRANCH_TARGETS (?P<labels>[^\"]+)\"")
_TURNS = "BRA.U.ANY"
_ENDS = frozenset({"EXIT", "RET", "KILL", "BPT"})
MATRIX = re.compile(r"\w*MMA(\.|$)")  # HMMA, HGMMA, UTCHMMA, …
MEMORY = re.compile(r"(LD|LDG|LDS|LDGSTS|ST|STG|STS|ATOM\w*|RED\w*|UBLKCP|UTMA\w+)(\.|$)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its opcode with modifiers, the labels that it branches to, and whether others may follow it."""

    opcode: str
    targets: tuple[str, ...]
    falls_through: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop: the instructions of its body, in the order of the code."""

    opcodes: tuple[str, ...]

    def count(self, pattern: re.Pattern[str]) -> int:
        """Return how many opcodes begin like that."""
        return sum(bool(pattern.match(opcode)) for opcode in self.opcodes)

    @property
    def histogram(self) -> Counter[str]:
        """How often each instruction occurs, without its modifiers."""
        return Counter(opcode.partition(".")[0] for opcode in self.opcodes)


@dataclass(slots=True)
class _Block:
    label: str | None
    instructions: list[Instruction]


def instructions(sass: str) -> list[Instruction]:
    """Return the instructions, without the padding at the end."""
    found = [each for block in _blocks(sass) for each in block.instructions]
    while found and found[-1].opcode == "NOP":
        found.pop()
    return found


def loops(sass: str) -> list[Loop]:
    """Return every loop, inner ones and those around them."""
    return [loop for _, loop in _loops(sass)]


def main_loop(sass: str) -> Loop | None:
    """Return the loop in which the work is done, None in straight code."""
    return loop_of(sass, MATRIX) or loop_of(sass, MEMORY)


def loop_of(sass: str, work: re.Pattern[str]) -> Loop | None:
    """Return the loop that holds most instructions that begin like `work`, of those without such a loop inside."""
    working = [(body, loop) for body, loop in _loops(sass) if loop.count(work)]
    innermost = [loop for body, loop in working if not any(other < body for other, _ in working)]
    return max(innermost, key=lambda loop: (loop.count(work), len(loop.opcodes)), default=None)


def _loops(sass: str) -> list[tuple[frozenset[int], Loop]]:
    """Return the loops, each with the numbers of its blocks."""
    return [(body, Loop(_opcodes(blocks, body))) for blocks, body in _bodies(sass)]


def _opcodes(blocks: list[_Block], body: frozenset[int]) -> tuple[str, ...]:
    return tuple(each.opcode for index in sorted(body) for each in blocks[index].instructions)


def _blocks(sass: str) -> list[_Block]:
    """Cut the listing at labels and behind branches."""
    blocks = [_Block(None, [])]
    for line in sass.splitlines():
        if label := _LABEL.match(line):
            blocks.append(_Block(label[1], []))
        elif found := _INSTRUCTION.match(line):
            targets = _targets(found["opcode"], found["operands"])
            always = found["guard"] is None and "P" not in re.split(r"[`(]", found["operands"])[0]
            leaves = found["opcode"].partition(".")[0] in _ENDS or (bool(targets) and "DIV" not in found["opcode"])
            blocks[-1].instructions.append(Instruction(found["opcode"], targets, not (leaves and always)))
            if targets or leaves:
                blocks.append(_Block(None, []))
    return [block for block in blocks if block.label or block.instructions]


def _targets(opcode: str, operands: str) -> tuple[str, ...]:
    """Return the labels that an instruction may branch to; those of a table, nvdisasm tells in a comment."""
    if opcode == _TURNS or not opcode.startswith(("BRA", "JMP", "BRX", "JMX")):
        return ()
    table = _TABLE.search(operands)
    return tuple(table["labels"].split(",")) if table else tuple(_TARGET.findall(operands))


def _successors(blocks: list[_Block]) -> list[set[int]]:
    places = {block.label: index for index, block in enumerate(blocks) if block.label}
    found: list[set[int]] = []
    for index, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        after: set[int] = set()
        if last is not None:
            after.update(places[label] for label in last.targets if label in places)
        if (last is None or last.falls_through) and index + 1 < len(blocks):
            after.add(index + 1)
        found.append(after)
    return found


def _bodies(sass: str) -> list[tuple[list[_Block], frozenset[int]]]:
    """Return the blocks, and of each loop the numbers of its blocks; loops with one head are one loop."""
    blocks = _blocks(sass)
    flow = flow_graph(_successors(blocks))
    bodies: dict[int, set[int]] = {}
    for last, head in back_edges(flow):
        body = bodies.setdefault(head, {head})
        if last not in body:
            body |= set(nx.bfs_tree(nx.restricted_view(flow, [head], []), last, reverse=True))
    return [(blocks, frozenset(body)) for body in bodies.values()]
