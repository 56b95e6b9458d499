"""ptxas as a checker of single instructions, thousands in one file.

Each instruction is in a kernel on its own line. `-arch=compute_XX` checks without generating code. A semantic error
affects only its line. A syntax error ends the run; the instructions after it are checked again.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.isa.scalar_types import SIZES
from pyptx_ir.toolchain.diagnostics import parse_log
from pyptx_ir.toolchain.runner import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.toolchain.finder import Tool
    from pyptx_ir.toolchain.runner import Outcome

AT_ONCE = 3000  # maximum number of instructions in a file for ptxas
PROCESSES = 2

# Symbols that instructions may use besides registers. Every form of `pyptx_ir.isa.forms` uses only these.
VARIABLES = (
    ".global .align 128 .b8 gmem[4096];",
    ".shared .align 128 .b8 smem[1024];",
    ".const .align 16 .b8 cmem[256];",
    ".global .texref tex0;",
    ".global .surfref surf0;",
    ".visible .func function() { ret; }",
    ".global .u64 table[1] = { function };",
)
_NAMES = frozenset(SIZES) | {"pred"}
# Pattern of an address in a 32-bit register, and an instruction with such an address, which ptxas rejects.
_NARROW = re.compile(r"\[%[bus]32_\d+\s*[+\]]")
NARROW = "ld.global.b32 %b32_1, [%b32_2];"
_CONFLICT = re.compile(r"uses 32-bit address on line '(\d+)'")
_REGISTER = re.compile(r"%([a-z]\w*?)_(\d+)\b")
LOCALS = ".local .align 16 .b8 lmem[64]; .param .b64 fp;"
# Labels of the lists and of the prototype that `brx.idx` and indirect calls may use.
LISTS = "branches: .branchtargets done; prototype: .callprototype _ (); callees: .calltargets function;"


@dataclass(frozen=True, slots=True)
class Assembler:
    """A ptxas for modules of one target and PTX version; with `code`, it also generates (unoptimized) code.

    With `independent`, textures and samplers are separate variables (`.target …, texmode_independent`).
    """

    tool: Tool
    target: str
    version: tuple[int, int]
    code: bool = False
    independent: bool = False

    def verdicts(self, instructions: Sequence[str]) -> dict[str, str | None]:
        """Return the error of ptxas for each instruction, or None."""
        texts = list(dict.fromkeys(instructions))
        parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
        verdicts: dict[str, str | None] = {}
        with ThreadPoolExecutor(PROCESSES) as pool:
            for part in pool.map(self._part, parts):
                verdicts |= part
        return verdicts if self.code else {**verdicts, **self._narrow_among(verdicts)}

    def alone(self, instruction: str) -> str | None:
        """Check one instruction in its own file, because ptxas may report wrong errors after the first one."""
        verdicts = self._part([instruction])
        return (verdicts if self.code else {**verdicts, **self._narrow_among(verdicts)})[instruction]

    def _narrow_among(self, verdicts: dict[str, str | None]) -> dict[str, str]:
        """Return errors about addresses in 32-bit registers, among instructions that are otherwise valid.

        ptxas checks the address width only just before code generation, and stops there if an address is too narrow. So
        an instruction with a narrow address is added to each file: it keeps ptxas from generating code.
        """
        pending = [text for text, complaint in verdicts.items() if complaint is None and _NARROW.search(text)]
        found: dict[str, str] = {}
        for start in range(0, len(pending), AT_ONCE):
            found |= self._narrow(pending[start : start + AT_ONCE])
        return found

    def _narrow(self, pending: list[str]) -> dict[str, str]:
        outcome = replace(self, code=True)._ask([*pending, NARROW])
        first = len(self._head()) + 1
        lines = [int(line) - first for line in _CONFLICT.findall(outcome.output)]
        found = {pending[line]: "32-bit address in a module of 64-bit ones" for line in lines if line < len(pending)}
        errors, _ = self._errors(outcome)
        found |= {pending[line]: message for line, message in errors.items() if line < len(pending)}
        if len(pending) in lines:
            return found
        if errors:  # other errors stop ptxas before it checks address widths
            return found | self._narrow([text for line, text in enumerate(pending) if line not in errors])
        middle = len(pending) // 2
        return self._narrow(pending[:middle]) | self._narrow(pending[middle:]) if len(pending) > 1 else found

    def _part(self, pending: list[str]) -> dict[str, str | None]:
        verdicts: dict[str, str | None] = {}
        parsed: list[str] = []  # instructions before a syntax error: ptxas has parsed but not checked them
        while pending:
            outcome = self._ask(pending)
            if outcome.signal:
                verdicts |= self._halves(pending, outcome.signal)
                break
            errors, fatal = self._errors(outcome)
            if fatal is not None:
                guilty = self._guilty(pending, fatal)
                verdicts |= {pending[line]: message for line, message in errors.items() if line < guilty}
                verdicts[pending[guilty]] = errors[fatal]
                parsed += [text for line, text in enumerate(pending[:guilty]) if line not in errors]
                pending = pending[guilty + 1 :]
                continue
            if not errors and outcome.status:
                verdicts |= self._halves(pending, outcome.output.strip())
                break
            verdicts |= {text: errors.get(line) for line, text in enumerate(pending)}
            break
        return verdicts | self._part(parsed) if parsed else verdicts

    def _guilty(self, pending: list[str], fatal: int) -> int:
        """Return the index of the instruction with a syntax error; ptxas reports an open brace on the next line."""
        if fatal >= len(pending):
            return len(pending) - 1
        return fatal - 1 if fatal and self.alone(pending[fatal]) is None else fatal

    def _halves(self, pending: list[str], said: str) -> dict[str, str | None]:
        """Find by bisection the instruction that crashes ptxas, or makes it fail without an error at a line."""
        if len(pending) == 1:
            return {pending[0]: f"crash: {said}"}
        middle = len(pending) // 2
        return self._part(pending[:middle]) | self._part(pending[middle:])

    def _errors(self, outcome: Outcome) -> tuple[dict[int, str], int | None]:
        """Return the first error of each line (counted from 0 after the header), and the line of a syntax error."""
        first = len(self._head()) + 1
        # ptxas reports a few errors at a line of the header; bisection then finds the faulty instruction.
        remarks = [remark for remark in parse_log(outcome.output) if remark.is_error and (remark.line or 0) >= first]
        said = [((remark.line or 0) - first, remark) for remark in remarks]
        fatal = [line for line, remark in said if remark.severity == "fatal"]
        return {line: remark.message for line, remark in reversed(said)}, fatal[0] if fatal else None

    def module(self, instructions: Sequence[str]) -> str:
        """Return a module with an entry for each instruction, each on one line."""
        entry = ".visible .entry k{}(.param .u64 pp, .param .align 64 .b8 tmap[128]) {{ {} {} {} done: ret; }}"
        lines = [entry.format(i, self._registers(text), _locals(text), text) for i, text in enumerate(instructions)]
        return "\n".join([*self._head(), *lines, ""])

    def _ask(self, instructions: Sequence[str]) -> Outcome:
        arch = self.target if self.code else self.target.replace("sm_", "compute_")
        options = ("-O0",) if self.code else ()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "m.ptx").write_text(self.module(instructions), encoding="utf-8")
            return run(self.tool, [f"-arch={arch}", *options, "m.ptx", "-o", "m.out"], Path(folder))

    def _head(self) -> list[str]:
        major, minor = self.version
        target = f".target {self.target}, texmode_independent" if self.independent else f".target {self.target}"
        samplers = (".global .samplerref smp0;",) if self.independent else ()
        return [f".version {major}.{minor}", target, ".address_size 64", *VARIABLES, *samplers]

    def _registers(self, instruction: str) -> str:
        """Declare the registers of one instruction only: declarations cost ptxas more time than the instruction."""
        largest: dict[str, int] = {}
        for name, number in _REGISTER.findall(instruction):
            largest[name] = max(largest.get(name, 0), int(number))
        if self.version < (8, 3):
            largest.pop("b128", None)
        return " ".join(f".reg .{name} %{name}_<{number + 1}>;" for name, number in largest.items() if name in _NAMES)


def _locals(instruction: str) -> str:
    return f"{LOCALS} {LISTS}" if instruction.startswith(("call", "brx")) else LOCALS
