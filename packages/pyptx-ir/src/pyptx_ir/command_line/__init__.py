"""Parts of command lines that all subcommands of `pyptx` share: options, exit statuses and output formats."""

from __future__ import annotations

from pyptx_ir.command_line.parser import (
    ERRORS,
    SUCCESS,
    USAGE_ERROR,
    CommandParser,
    add_format,
    run,
    text_of,
)

__all__ = ["ERRORS", "SUCCESS", "USAGE_ERROR", "CommandParser", "add_format", "run", "text_of"]
