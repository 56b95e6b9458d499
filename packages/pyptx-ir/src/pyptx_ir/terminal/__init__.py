"""Output for people at a terminal."""

from __future__ import annotations

from pyptx_ir.terminal.progress import Progress, ProgressCallback, show_progress

__all__ = ["Progress", "ProgressCallback", "show_progress"]
