"""The PTX modules inside any file: fat binaries are found by their magic number and walked, with no CUDA tool.

A fat binary is a header (magic, version, header size, size of what follows) and entries. An entry is a header and a
payload; kind 1 is PTX text, raw or compressed with LZ4 (flag 0x2000) or zstandard (flag 0x8000).
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import lz4.block
import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = struct.pack("<I", 0xBA55ED50)
HEADER = struct.Struct("<IHHQ")  # magic, version, header size, size of the entries
ENTRY = struct.Struct(
    "<HHIQIIHHIIIQQQ"
)  # kind, -, header size, size, compressed size, -, minor, major, arch, -, -, flags, -, full size
PTX = 1
LZ4 = 0x2000
ZSTD = 0x8000


def ptx_modules(data: bytes) -> Iterator[bytes]:
    """Yield the PTX texts of every fat binary in `data`, without the zeros that pad them."""
    at = data.find(MAGIC)
    while at >= 0:
        following = at + 4
        if at + HEADER.size <= len(data):
            _, version, header_size, size = HEADER.unpack_from(data, at)
            end = at + header_size + size
            if version == 1 and header_size == HEADER.size and end <= len(data):
                yield from _entries(data, at + header_size, end)
                following = end
        at = data.find(MAGIC, following)


def _entries(data: bytes, at: int, end: int) -> Iterator[bytes]:
    while at + ENTRY.size <= end:
        kind, _, header_size, size, compressed_size, *_, flags, _, full_size = ENTRY.unpack_from(data, at)
        start = at + header_size
        if kind == PTX:
            yield _text(data[start : start + (compressed_size or size)], flags, full_size)
        at = start + size


def _text(payload: bytes, flags: int, full_size: int) -> bytes:
    if flags & ZSTD:
        payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=full_size)
    elif flags & LZ4:
        payload = lz4.block.decompress(payload, uncompressed_size=full_size)
    return payload.rstrip(b"\0")
