"""Law L6: what the instruction table accepts ptxas accepts, and what it refuses ptxas refuses.

ptxas is asked without code generation (`-arch=compute_XX`), with thousands of entries in one file. Every known
disagreement stands in one of the two lists below, with its reason.
"""

from __future__ import annotations

import random
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_ir.isa.check import check_instruction, is_partial
from pyptx_ir.isa.errors import InstructionError
from pyptx_ir.isa.forms import forms, register_type
from pyptx_ir.isa.patterns import compile_row
from pyptx_ir.isa.scalar_types import SIZES
from pyptx_ir.isa.targets import TARGETS, default_version
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import parse_instruction, spell
from pyptx_ir.toolchain.diagnostics import parse_log
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

pytestmark = pytest.mark.ptxas

# ptxas accepts these, the table doesn't. The pattern is searched in the instruction.
STRICTER: dict[str, str] = {
    r"^fence\.(acquire|release)\.": "the manual: PTX 8.6 and sm_90; ptxas 13.0 takes them from the start",
    r"^cp\.async\.c[ag]\.shared::cta": "the manual: ::cta arrived with PTX 7.8; ptxas takes it in cp.async from 7.0 on",
    r"^(\w+)(?=.*\.(\w+(::\w+)?)\b.*\.\2\b)": "ptxas lets a word that is no type stand twice; it means nothing",
    r"%f16x2_": "ptxas takes .f16x2 registers for predicates and counts; the manual has no such rule",
    r"^red\S* _,": "ptxas takes the sink for red's address, and then crashes in code generation",
    r"^atom\S* [^;]*,[^;]*,[^;]*,": "ptxas passes over a fourth operand of atom.exch, .and, .or and .xor",
    r"^cvt\S*f16x2?\.f32 ": "ptxas checks nothing about registers of 128 bits in cvt to f16",
    r"^fma\.r[zmp]\.\S*bf16|^fma\S*\.oob|^fma\S*sat\S*bf16": "ptxas drops modifiers that fma has not for these types",
    r"^isspacep\S* %pred_\d, -?1": "ptxas takes a number for an address",
    r"^mma\.": "ptxas reads over surplus types of mma, and takes two register counts for fp8 with k16",
    r"^mov\.(v[24]|b128|b64|b32|b16)\.?\S* ": "ptxas copies one value to all elements, and takes any symbol for b128",
    r"^movmatrix\S* [^;]*%pred": "ptxas takes a predicate for a fragment, and then crashes in code generation",
    r"^prefetch\.L2::evict": "the manual: this hint goes with .global",
    r"^rcp\.r[nzmp]\.ftz\.f64": "ptxas drops .ftz; the manual has it for .approx alone",
    r"^set\.\S*bf16x2\.bf16x2": "ptxas checks no operand of this form",
    r"^testp\.f\d\d ": "the manual: the class is part of the instruction",
    r"^setp\S*f16x2? _": "ptxas takes the sink for both results",
}

# The table accepts these, ptxas doesn't: it knows values and symbols, the table shapes. Searched in ptxas's words.
BEYOND: dict[str, str] = {
    r"out of range|unexpected value|multiple of warp size": "the value of an operand",
    r"State space mismatch|Illegal state space for address|Illegal to write to function input": "what a symbol is",
    r"Label expected|Arguments mismatch for instruction 'bra'": "which names are labels",
    r"Arguments mismatch for instruction '(movmatrix|set|setp)'|Result register required": (
        "a literal where these forms want a register; ptxas takes one in their siblings"
    ),
}

SWEEP: list[tuple[str, tuple[int, int]]] = [
    ("sm_75", (6, 3)),
    ("sm_75", (9, 0)),
    ("sm_80", (7, 0)),
    ("sm_86", (7, 4)),
    ("sm_89", (8, 5)),
    ("sm_90", (7, 8)),
    ("sm_90a", (9, 0)),
    ("sm_100a", (8, 8)),
    ("sm_120f", (8, 8)),
]


class Oracle:
    """ptxas as a judge of single instructions."""

    def __init__(self, target: str, version: tuple[int, int]) -> None:
        self.arch = target.replace("sm_", "compute_")
        types = ["pred", "f16x2", *(name for name in SIZES if name not in ("f16x2", "b128") or version >= (8, 3))]
        self.locals = " ".join(f".reg .{name} %{name}_<20>;" for name in dict.fromkeys(types))
        self.locals += " .local .align 16 .b8 lmem[64]; .param .b64 fp;"
        self.head = [
            f".version {version[0]}.{version[1]}",
            f".target {target}",
            ".address_size 64",
            ".global .align 128 .b8 gmem[4096];",
            ".shared .align 128 .b8 smem[1024];",
            ".const .align 16 .b8 cmem[256];",
        ]

    def judge(self, instructions: Sequence[str]) -> dict[str, str | None]:
        """Return, for each instruction, what ptxas has against it, or None."""
        verdicts: dict[str, str | None] = {}
        pending = list(instructions)
        while pending:
            pending = self._round(pending, verdicts)
        return verdicts

    def alone(self, instruction: str) -> str | None:
        """Judge one instruction in a file of its own: an error can leave ptxas confused about later lines."""
        return self.judge([instruction])[instruction]

    def _round(self, pending: list[str], verdicts: dict[str, str | None]) -> list[str]:
        """Ask about `pending`; return what has to be asked again."""
        entry = ".visible .entry k{}(.param .u64 pp) {{ {} {} done: ret; }}"
        lines = [entry.format(i, self.locals, text) for i, text in enumerate(pending)]
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "m.ptx").write_text("\n".join([*self.head, *lines, ""]), encoding="utf-8")
            arguments = [f"-arch={self.arch}", "m.ptx", "-o", "m.out"]
            outcome = run(find_tool("ptxas"), arguments, Path(folder))
        if outcome.signal and len(pending) == 1:
            verdicts[pending[0]] = f"crash: {outcome.signal}"
            return []
        if outcome.signal:
            middle = len(pending) // 2
            for half in (pending[:middle], pending[middle:]):
                verdicts |= self.judge(half)
            return []
        said = [remark for remark in parse_log(outcome.output) if remark.is_error and remark.line]
        errors = {remark.line - len(self.head) - 1: remark.message for remark in reversed(said) if remark.line}
        fatal = [remark.line - len(self.head) - 1 for remark in said if remark.severity == "fatal" and remark.line]
        verdicts |= {pending[line]: message for line, message in errors.items()}
        if fatal:  # a syntax error ends the run: what stands before was parsed, but not resolved
            return [text for line, text in enumerate(pending) if line not in errors]
        assert errors or not outcome.status, outcome.output
        verdicts |= {text: None for line, text in enumerate(pending) if line not in errors}
        return []


def ours(text: str, target: str, version: tuple[int, int]) -> str | None:
    """Return what the table has against an instruction, or None."""
    try:
        check_instruction(parse_instruction(text), register_type, target, version)
    except InstructionError as error:
        return str(error)
    return None


def disagreements(texts: Sequence[str], target: str, version: tuple[int, int]) -> list[str]:
    """Return the instructions on which table and ptxas disagree, without the known ones, each with both opinions."""
    oracle = Oracle(target, version)
    theirs = oracle.judge(texts)
    found: list[str] = []
    for text in texts:
        mine, other = ours(text, target, version), theirs[text]
        if (mine is None) == (other is None):
            continue
        other = oracle.alone(text) if other else other
        if (mine is None) != (other is None) and not _is_known(text, mine, other):
            found.append(f"{text}\n  table: {mine}\n  ptxas: {other}")
    return found


def _is_known(text: str, mine: str | None, theirs: str | None) -> bool:
    if mine:
        return any(re.search(pattern, text) for pattern in STRICTER)
    assert theirs is not None
    return theirs.startswith("crash") or any(re.search(pattern, theirs) for pattern in BEYOND)


def all_forms() -> list[str]:
    return list(dict.fromkeys(text for row in manager().instructions() if row.opcode != "acme" for text in forms(row)))


@pytest.mark.parametrize(("target", "version"), SWEEP)
def test_every_form_of_every_row_is_legal_for_ptxas_exactly_when_the_table_says_so(
    target: str, version: tuple[int, int]
) -> None:
    # A third per target: together the sweep sees every form several times.
    texts = all_forms()[SWEEP.index((target, version)) % 3 :: 3]
    assert len(texts) > 4000
    assert disagreements(texts, target, version) == []


REPLACEMENTS = (
    *(f"%{name}_1" for name in ("pred", "b8", "b16", "u16", "f16", "b32", "s32", "f32", "b64", "s64", "f64", "b128")),
    *(
        "1",
        "-1",
        "1.0",
        "0f3F800000",
        "_",
        "[%u64_9]",
        "{%u32_1, %u32_2}",
        "%u32_1|%pred_2",
        "!%pred_3",
        "gmem",
        "%tid.x",
    ),
)


def mutants(text: str, words: Sequence[str]) -> Iterator[str]:
    """Yield `text` with one thing changed: an operand's kind, their number, or a word."""
    node = parse_instruction(text)
    opcode = ".".join(node.opcode)
    operands = [spell(operand) for operand in node.operands]
    for i in range(len(operands)):
        for replacement in REPLACEMENTS:
            yield f"{opcode} {', '.join([*operands[:i], replacement, *operands[i + 1 :]])};"
        yield f"{opcode} {', '.join(operands[:i] + operands[i + 1 :])};"
    yield f"{opcode} {', '.join([*operands, '%u32_1'])};"
    rest = f" {', '.join(operands)};"
    first, *others = node.opcode
    for i in range(len(others)):
        yield ".".join([first, *others[:i], *others[i + 1 :]]) + rest
        yield from (".".join([first, *others[:i], word, *others[i + 1 :]]) + rest for word in words)
    yield from (".".join([first, *others, word]) + rest for word in words)
    if len(others) > 1:
        yield ".".join([first, *others[1:], others[0]]) + rest


def mutated(chance: random.Random, per_row: int) -> list[str]:
    """Return mutants of one form of every row, `per_row` each."""
    found: dict[str, None] = {}
    words: Mapping[str, list[str]] = {}
    for row in manager().instructions():
        if row.opcode not in words:
            patterns = map(compile_row, manager().instructions_of(row.opcode))
            every = {word for pattern in patterns for item in pattern.items for word in item.words}
            words = {**words, row.opcode: sorted(every)}
        known = words[row.opcode]
        form = chance.choice(list(forms(row)))
        made = list(dict.fromkeys(mutants(form, chance.sample(known, min(8, len(known))))))
        found |= dict.fromkeys(chance.sample(made, min(per_row, len(made))))
    return [text for text in found if not is_partial(parse_instruction(text).opcode)]


@pytest.mark.parametrize(("target", "version", "seed"), [("sm_90a", (9, 0), 1), ("sm_120f", (8, 8), 2)])
def test_what_the_table_refuses_ptxas_refuses_too(target: str, version: tuple[int, int], seed: int) -> None:
    texts = mutated(random.Random(seed), per_row=6)
    refused = [text for text in texts if ours(text, target, version)]
    assert len(refused) > 1500
    assert disagreements(texts, target, version) == []


def test_every_listed_disagreement_has_a_reason() -> None:
    assert all(len(reason) > 15 for reason in (*STRICTER.values(), *BEYOND.values()))


def test_ptxas_takes_every_target_with_its_default_version() -> None:
    refused = {}
    newest = find_tool("ptxas").newest_ptx
    for target in TARGETS:
        if target.number < 75 or target.until or target.since > newest:
            continue
        verdict = Oracle(target.name, default_version(target)).alone("exit;")
        if verdict:
            refused[target.name] = verdict
    assert not refused


def test_ptxas_knows_no_target_before_its_version() -> None:
    # sm_88: the manual says 9.0, ptxas 13.0 knows it from 7.4 on.
    for target in TARGETS:
        if target.number < 75 or target.until or target.since > (9, 0) or target.name == "sm_88":
            continue
        major, minor = target.since
        before = (major, minor - 1) if minor else {9: (8, 8), 8: (7, 8), 7: (6, 5)}[major]
        folder_error = _refused_for_target(target.name, before)
        assert folder_error, f"ptxas takes {target.name} in PTX {before}"
        assert not _refused_for_target(target.name, target.since)


def _refused_for_target(target: str, version: tuple[int, int]) -> bool:
    text = f".version {version[0]}.{version[1]}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_text(text, encoding="utf-8")
        arguments = [f"-arch={target.replace('sm_', 'compute_')}", "m.ptx", "-o", "m.out"]
        return run(find_tool("ptxas"), arguments, Path(folder)).status != 0
