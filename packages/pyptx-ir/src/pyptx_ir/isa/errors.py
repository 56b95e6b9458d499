"""Errors for invalid instructions."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class InstructionError(PyptxError):
    """Invalid use of an instruction that is in the instruction table.

    `operand` is the index of the faulty operand, if any; `code` is the class of the fault.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        help: str | None = None,
        operand: int | None = None,
        code: str = "",
    ) -> None:
        """Compose the error text: `message`, then the source line `where`, then `help`."""
        super().__init__(message, where=where, help=help)
        self.operand = operand
        self.code = code
