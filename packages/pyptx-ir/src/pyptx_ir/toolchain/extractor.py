"""The PTX inside cubins, fat binaries and host programs, as cuobjdump lists it."""

from __future__ import annotations

from pyptx_ir.toolchain.errors import ToolchainError
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

_MAGIC = (b"\x7fELF", b"\x50\xed\x55\xba")  # of object files and cubins, and of fat binaries


def is_image(data: bytes) -> bool:
    """Tell whether bytes are no text but an image, in which there may be PTX."""
    return data.startswith(_MAGIC)


def extract(image: bytes) -> bytes:
    """Return cuobjdump's listing of the PTX in an image: its modules, each under a heading, which `parse` reads.

    Raise ToolchainError if cuobjdump is missing or refuses the image, or there is no PTX in it.
    """
    import tempfile
    from pathlib import Path

    tool = find_tool("cuobjdump")
    with tempfile.TemporaryDirectory(prefix="pyptx-") as name:
        folder = Path(name)
        (folder / "image").write_bytes(image)
        outcome = run(tool, ["--dump-ptx", "image"], folder)
    if outcome.status:
        raise ToolchainError(f"{tool.name} {tool.version} can't read this image", where=outcome.output.strip() or None)
    listing = outcome.output.encode("utf-8", "surrogateescape")
    if b".version" not in listing:
        raise ToolchainError(
            "there is no PTX in this image, only machine code",
            hint="compile it with PTX: nvcc -gencode …,code=compute_90",
        )
    return listing
