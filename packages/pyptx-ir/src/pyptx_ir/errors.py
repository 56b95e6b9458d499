"""The errors of pyptx-ir.

    PyptxError
    ├── PtxSyntaxError      text that is not PTX            (pyptx_ir.syntax)
    ├── TargetError         unknown or unfit target         (pyptx_ir.isa)
    ├── InstructionError    a known instruction used wrongly (pyptx_ir.isa)
    ├── PluginError         a plugin that clashes, fails to import or speaks another API version
    └── ToolchainError      ptxas, nvdisasm, … missing, or refusing their input

A warning of whatever runs kernels on a CPU: SimulatedExecution.

Every error says what is wrong, shows the user's line with a caret where there is one, and ends with what to do.
"""

from __future__ import annotations


class PyptxError(Exception):
    """Base of every error that pyptx raises on purpose."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        """Compose the text: `message`, then the located source line `where`, then `hint`."""
        self.message = message
        self.where = where
        self.hint = hint
        parts = [message]
        if where:
            parts.append(where)
        if hint:
            parts.append(f"hint: {hint}")
        super().__init__("\n".join(parts))


class SimulatedExecution(UserWarning):
    """A kernel runs on the simulator because its arrays are on the CPU."""
