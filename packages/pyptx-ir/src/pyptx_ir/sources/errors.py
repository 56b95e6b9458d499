"""Errors of inputs without usable PTX."""

from __future__ import annotations

from pyptx_ir.errors import PyptxError


class SourceError(PyptxError):
    """An input that has no PTX, is damaged, or has several modules where one is expected."""


class UnknownSizeError(SourceError):
    """A size or template value that a kernel of a Python file lacks.

    `name` is its name, `kernel` the kernel's, and `known` are the names of the kernel's sizes and parameters.
    """

    def __init__(
        self, message: str, *, name: str = "", kernel: str = "", known: tuple[str, ...] = (), help: str | None = None
    ) -> None:
        """Store the names, and compose the text; without names only for `pickle`, which restores them."""
        super().__init__(message, help=help)
        self.name, self.kernel, self.known = name, kernel, known
