"""Source lines of a module's instructions, from its `.file`, `.loc` and `.debug_str`."""

from __future__ import annotations

from pyptx_ir.debug_info.libraries import user_frame
from pyptx_ir.debug_info.lines import frames_by_line, instruction_frames

__all__ = ["frames_by_line", "instruction_frames", "user_frame"]
