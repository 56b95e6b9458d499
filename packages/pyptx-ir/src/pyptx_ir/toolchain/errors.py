"""Errors of NVIDIA's tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from pyptx_ir.toolchain.diagnostics import ToolMessage


class ToolchainError(PyptxError):
    """A tool of NVIDIA that is missing, too old, or crashed."""


class MissingToolError(ToolchainError):
    """A tool of NVIDIA that is not installed."""


class AssemblyError(ToolchainError):
    """PTX that ptxas rejects; `diagnostics` contains all its messages, in order."""

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        help: str | None = None,
        diagnostics: tuple[ToolMessage, ...] = (),
        log: str = "",
    ) -> None:
        """Compose the error text, and keep the output of ptxas in `log`."""
        super().__init__(message, where=where, help=help)
        self.diagnostics = diagnostics
        self.log = log


class CacheWarning(UserWarning):
    """The cubin cache can't be written, so every process compiles its kernels again."""
