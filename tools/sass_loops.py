"""Loops of a kernel's machine code, parsed from the output of nvdisasm.

A loop is a natural loop of the control flow: a branch goes back to a block that dominates it. The loop's body is every
block that reaches the branch without passing that block. The *main* loop does most of the work. It is the loop with the
most MMAs, among the loops with MMAs that have no inner loop with MMAs. In a kernel without MMAs, memory accesses
select it likewise. A loop that only waits is never the main loop. ptxas wraps an instruction with uniform operands into
a loop with one iteration per distinct value of its lanes (`BRA.U.ANY`); this does not count as a loop.
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
MATRIX = re.compile(r"\w*MMA(\.|$)")  # MMA opcodes: HMMA, HGMMA, UTCHMMA, …
MEMORY = re.compile(r"(LD|LDG|LDS|LDGSTS|ST|STG|STS|ATOM\w*|RED\w*|UBLKCP|UTMA\w+)(\.|$)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One SASS instruction: opcode with modifiers, branch targets, and whether control can fall through."""

    opcode: str
    targets: tuple[str, ...]
    falls_through: bool


@dataclass(frozen=True, slots=True)
class Loop:
    """One natural loop: the instructions of its body, in code order."""

    opcodes: tuple[str, ...]

    def count(self, pattern: re.Pattern[str]) -> int:
        """Return the number of the loop's opcodes that match the pattern at their start."""
        return sum(bool(pattern.match(opcode)) for opcode in self.opcodes)

    @property
    def histogram(self) -> Counter[str]:
        """Number of occurrences of each opcode (without modifiers) in the loop."""
        return Counter(opcode.partition(".")[0] for opcode in self.opcodes)


@dataclass(slots=True)
class _Block:
    label: str | None
    instructions: list[Instruction]


def instructions(sass: str) -> list[Instruction]:
    """Return the instructions of a listing, without the NOPs at its end."""
    found = [each for block in _blocks(sass) for each in block.instructions]
    while found and found[-1].opcode == "NOP":
        found.pop()
    return found


def loops(sass: str) -> list[Loop]:
    """Return all loops of a listing, inner and outer ones."""
    return [loop for _, loop in _loops(sass)]


def main_loop(sass: str) -> Loop | None:
    """Return the main loop of a listing; None if no loop has MMAs or memory accesses."""
    return loop_of(sass, MATRIX) or loop_of(sass, MEMORY)


def loop_of(sass: str, work: re.Pattern[str]) -> Loop | None:
    """Return the loop with the most instructions that match `work`, among the loops without a matching inner loop."""
    working = [(body, loop) for body, loop in _loops(sass) if loop.count(work)]
    innermost = [loop for body, loop in working if not any(other < body for other, _ in working)]
    return max(innermost, key=lambda loop: (loop.count(work), len(loop.opcodes)), default=None)


def _loops(sass: str) -> list[tuple[frozenset[int], Loop]]:
    """Return the natural loops, each with the indices of its basic blocks."""
    return [(body, Loop(_opcodes(blocks, body))) for blocks, body in _bodies(sass)]


def _opcodes(blocks: list[_Block], body: frozenset[int]) -> tuple[str, ...]:
    return tuple(each.opcode for index in sorted(body) for each in blocks[index].instructions)


def _blocks(sass: str) -> list[_Block]:
    """Split the instructions of a listing into basic blocks, at labels and after branches."""
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
    """Return the labels that an instruction may branch to; nvdisasm prints a branch table's labels in a comment."""
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
    """Return the basic blocks and, for each loop, the indices of its blocks; loops with the same head are one loop."""
    blocks = _blocks(sass)
    flow = flow_graph(_successors(blocks))
    bodies: dict[int, set[int]] = {}
    for last, head in back_edges(flow):
        body = bodies.setdefault(head, {head})
        if last not in body:
            body |= set(nx.bfs_tree(nx.restricted_view(flow, [head], []), last, reverse=True))
    return [(blocks, frozenset(body)) for body in bodies.values()]
