"""PTX out of images, through cuobjdump; the fat binary is made here, byte by byte."""

from __future__ import annotations

import os
import struct

import pytest

from pyptx_ir.syntax import decode, emit, nodes, parse
from pyptx_ir.toolchain import ToolchainError, assemble, extract, find_tool, is_image

PTX = """.version 8.0
.target sm_80
.address_size 64

.visible .entry k()
{
\tret;
}
"""


def fat_binary(*texts: str) -> bytes:
    """Return a fat binary that holds uncompressed PTX for sm_80."""
    entries = b""
    for text in texts:
        payload = text.encode() + bytes(-len(text) % 8)
        # Behind the sizes: where the options of ptxas are, of which there are none.
        entries += struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 80, len(payload), 0, 64, 0, 8, 80, 0, 0, 0x11, 0, 0)
        entries += struct.pack("<QQ", 72, 0) + payload
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


@pytest.mark.ptxas
def test_a_listing_is_ptx_under_headings() -> None:
    image = fat_binary(PTX, PTX.replace("entry k", "entry other"))
    assert is_image(image)
    listing = decode(extract(image))
    module = parse(listing)
    assert emit(module) == listing
    assert [node.name for node in module.body if isinstance(node, nodes.Function)] == ["k", "other"]


@pytest.mark.ptxas
def test_a_relative_path_to_cuobjdump_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CUOBJDUMP", os.path.relpath(find_tool("cuobjdump").path))
    assert ".visible .entry k()" in decode(extract(fat_binary(PTX)))


@pytest.mark.ptxas
def test_what_holds_no_ptx_is_said() -> None:
    with pytest.raises(ToolchainError, match="there is no PTX in this image"):
        extract(assemble(PTX, "sm_80").cubin)


@pytest.mark.ptxas
def test_what_cuobjdump_refuses_is_said() -> None:
    with pytest.raises(ToolchainError, match=r"can't read this image|no PTX"):
        extract(b"\x7fELF\x02\x01 and nothing else")


def test_text_is_no_image() -> None:
    assert not is_image(PTX.encode())
