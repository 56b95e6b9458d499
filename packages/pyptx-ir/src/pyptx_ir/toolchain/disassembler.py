"""Disassemble a cubin to SASS text."""

from __future__ import annotations

from pyptx_ir.toolchain.errors import ToolchainError
from pyptx_ir.toolchain.finder import Tool, find_tool
from pyptx_ir.toolchain.runner import run


def disassemble(cubin: bytes, *, lines: bool = False) -> str:
    """Return the SASS of `cubin`, from nvdisasm or, if that is missing, cuobjdump.

    With `lines`, which needs nvdisasm, a comment `//## File "…", line N` precedes the code of each line that has a
    `.loc`. The comment has `inlined at "…", line N` for inlined code; lines of callers follow.
    """
    import tempfile
    from pathlib import Path

    tool = find_tool("nvdisasm") if lines else _disassembler()
    arguments = ["--print-code"] if tool.name == "nvdisasm" else ["--dump-sass"]
    if lines:
        arguments.append("--print-line-info-inline")
    with tempfile.TemporaryDirectory(prefix="pyptx-") as name:
        folder = Path(name)
        (folder / "module.cubin").write_bytes(cubin)
        outcome = run(tool, [*arguments, "module.cubin"], folder)
    if outcome.status:
        raise ToolchainError(f"{tool.name} {tool.version} can't read this image", where=outcome.output.strip() or None)
    return outcome.output


def _disassembler() -> Tool:
    try:
        return find_tool("nvdisasm")
    except ToolchainError as missing:
        try:
            return find_tool("cuobjdump")
        except ToolchainError:
            raise missing from None
