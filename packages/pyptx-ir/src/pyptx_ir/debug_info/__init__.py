"""Source lines of a module's instructions, from its `.file`, `.loc` and `.debug_str`."""

from __future__ import annotations

from pyptx_ir.debug_info.libraries import user_frame
from pyptx_ir.debug_info.lines import frames_by_line, instruction_frames, source_files
from pyptx_ir.debug_info.positions import SOURCE_LINE, position_of

__all__ = ["SOURCE_LINE", "frames_by_line", "instruction_frames", "position_of", "source_files", "user_frame"]
