"""The instruction table's verdict on one instruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.check import check_instruction
from pyptx_ir.isa.errors import InstructionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_ir.syntax.nodes import Instruction


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why an instruction is refused."""

    code: str
    message: str
    hint: str | None
    operand: int | None
    severity: str


def verdict_on(
    instruction: Instruction, declared: Callable[[str], str | None], target: str, version: tuple[int, int]
) -> Verdict | None:
    """Ask the table about one instruction, given what its names stand for."""

    def kind(name: str) -> str | None:
        found = declared(name)
        return None if found is None or found[:1] in (".", "?") else found

    try:
        check_instruction(instruction, kind, target, version)
    except InstructionError as error:
        return Verdict("modifier", error.message, error.hint, error.operand, "error")
    return None
