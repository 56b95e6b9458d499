"""Errors of the semantics.

MissingSemantics (pyptx_sim.errors) └── NoSemantics   the opcode is known, but not with these modifiers, types or
operands
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_sim.errors import MissingSemantics

if TYPE_CHECKING:
    from pyptx_ir.syntax.nodes import Instruction


class NoSemantics(MissingSemantics):
    """The instruction matches no simulated form of its opcode; raised when the program is compiled."""

    def __init__(self, instruction: Instruction, reason: str | None = None, help: str | None = None) -> None:
        """Build the message from the opcode and modifiers of `instruction`, and the unsupported part."""
        opcode = ".".join(instruction.opcode)
        super().__init__(f"no simulator semantics for {opcode}" + (f": {reason}" if reason else ""), help=help)
