"""Find PTX in any file without CUDA's tools: walk the fat binaries, and look for bare text between them.

A fat binary is a header and entries, little-endian and without gaps:

    header   u32 magic, u16 version (1), u16 bytes of this header, u64 bytes of all entries
    entry    u16 kind (1 PTX, 2 cubin), u16, u32 bytes of this entry's header, u64 bytes of the padded payload,
             u32 bytes of the payload if compressed, u32, u16 minor, u16 major, u32 number of the target, u32, u32,
             u64 flags, u64, u64 bytes of the text; then what newer versions add, up to the header's own size
    payload  the text, raw or compressed (flag 0x2000: an LZ4 block, flag 0x8000: zstandard), padded with zeros

Read off what `fatbinary` 13.0 writes in its four compression modes, and held against the wheels of `nox -s wild`.
"""

from __future__ import annotations

import importlib
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from mmap import mmap
from typing import TypeAlias

Bytes: TypeAlias = bytes | mmap
Decoder: TypeAlias = Callable[[bytes, int], bytes]

MAGIC = struct.pack("<I", 0xBA55ED50)
HEADER = struct.Struct("<IHHQ")
ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
PTX = 1
LZ4 = 0x2000
ZSTD = 0x8000

# A module begins with its .version; the comments that compilers write above it belong to it.
BARE = re.compile(rb"(?://[^\n\0]*\n|[ \t\r\n])*\.version[ \t]+\d+\.\d+[^\0]*?\.target[ \t]+\w[^\0]*")


@dataclass(frozen=True, slots=True)
class Image:
    """One PTX image: where its payload lies in the file, its compression (`""`, `"lz4"`, `"zstd"`), its text's size."""

    start: int
    end: int
    compression: str
    size: int
    target: int


def spans(data: Bytes) -> Iterator[tuple[int, int, int]]:
    """Yield begin, first entry and end of every fat binary; a magic number with no sound header behind it is chance."""
    at = data.find(MAGIC)
    while at >= 0:
        following = at + len(MAGIC)
        if at + HEADER.size <= len(data):
            _, version, header, size = HEADER.unpack_from(data, at)
            if version == 1 and header >= HEADER.size and at + header + size <= len(data):
                following = at + header + size
                yield at, at + header, following
        at = data.find(MAGIC, following)


def images(data: Bytes) -> Iterator[Image]:
    """Yield the PTX images of every fat binary in `data`."""
    for _, entries, end in spans(data):
        yield from _images_between(data, entries, end)


def text_of(data: Bytes, image: Image, decoders: Mapping[str, Decoder] | None = None) -> bytes:
    """Return an image's text without the zeros that pad it.

    `decoders` maps the names of compressions to functions of (payload, size of the text); by default they are those of
    the packages lz4 and zstandard.
    """
    payload = data[image.start : image.end]
    if image.compression:
        payload = (decoders or packaged_decoders())[image.compression](payload, image.size)
    return payload.rstrip(b"\0")


def bare_texts(data: Bytes) -> Iterator[bytes]:
    """Yield the modules that stand in `data` as text, outside every fat binary, each up to its first NUL."""
    covered = [(begin, end) for begin, _, end in spans(data)]
    for match in BARE.finditer(data):
        if not any(begin <= match.start() < end for begin, end in covered):
            yield match[0]


def packaged_decoders() -> dict[str, Decoder]:
    """Return the decoders of the packages lz4 and zstandard."""
    import zstandard

    block = importlib.import_module("lz4.block")  # by name, since it ships no types

    def lz4(payload: bytes, size: int) -> bytes:
        text: bytes = block.decompress(payload, uncompressed_size=size)
        return text

    def zstd(payload: bytes, size: int) -> bytes:
        return zstandard.ZstdDecompressor().decompress(payload, max_output_size=size)

    return {"lz4": lz4, "zstd": zstd}


def _images_between(data: Bytes, at: int, end: int) -> Iterator[Image]:
    while at + ENTRY.size <= end:
        kind, _, header, padded, compressed, _, _, _, target, _, _, flags, _, size = ENTRY.unpack_from(data, at)
        start = at + header
        if header < ENTRY.size or start + padded > end:
            return  # no entry: a fat binary ends here, whatever its header said
        if kind == PTX:
            compression = "zstd" if flags & ZSTD else "lz4" if flags & LZ4 else ""
            length = compressed if compression else padded
            yield Image(start, start + length, compression, size, target)
        at = start + padded
