"""The errors of pyptx-ir.

    PyptxError
    ├── PtxSyntaxError      invalid PTX syntax              (pyptx_ir.syntax)
    ├── TargetError         unknown or unsuitable target    (pyptx_ir.isa)
    ├── InstructionError    invalid use of an instruction   (pyptx_ir.isa)
    ├── PluginError         a plugin with a name conflict, a failed import or another API version
    └── ToolchainError      ptxas, nvdisasm, … missing, or rejecting their input

`SimulatedExecution` is the warning of runtimes that run kernels on a CPU.

Every error states the fault, shows the user's source line with a caret if there is one, and ends with a `help` line.
"""

from __future__ import annotations


class PyptxError(Exception):
    """Base class of all errors that pyptx raises deliberately."""

    def __init__(self, message: str, *, where: str | None = None, help: str | None = None) -> None:
        """Compose the error text: `message`, then the located source line `where`, then `help`."""
        self.message = message
        self.where = where
        self.help = help
        parts = [message]
        if where:
            parts.append(where)
        if help:
            parts.append(f"help: {help}")
        super().__init__("\n".join(parts))


class SimulatedExecution(UserWarning):
    """A kernel runs on the simulator because its arrays are on the CPU."""
