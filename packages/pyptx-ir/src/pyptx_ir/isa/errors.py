"""What goes wrong with instructions."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class InstructionError(PyptxError):
    """An instruction that the table knows, used in a way that it does not allow.

    `operand` is the index of the operand at fault, where one is; `code` the class of the fault.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        operand: int | None = None,
        code: str = "",
    ) -> None:
        """Compose the text."""
        super().__init__(message, where=where, hint=hint)
        self.operand = operand
        self.code = code
