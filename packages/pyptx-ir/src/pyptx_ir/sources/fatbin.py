"""Extraction of PTX from fat binaries in any file, without CUDA's tools.

A fat binary consists of a header and entries, little-endian and contiguous:

    header   u32 magic, u16 version (1), u16 bytes of this header, u64 bytes of all entries
    entry    u16 kind (1 PTX, 2 cubin), u16 version (0x101), u32 bytes of this entry's header, u64 bytes of the padded
             payload, u32 bytes of the payload if compressed, u32, u16 minor, u16 major, u32 number of the target, u32,
             u32, u64 flags, u64, u64 bytes of the text; then fields of newer versions, up to the header's size
    payload  the text, raw or compressed (flag 0x2000: an LZ4 block, flag 0x8000: zstandard), padded with zeros

The format is that of `fatbinary` 13.0 in its four compression modes, verified with the wheels of `nox -s wild`.
"""

from __future__ import annotations

import importlib
import struct
from importlib.util import find_spec
from mmap import mmap
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.sources.errors import SourceError
from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Iterator

Bytes: TypeAlias = bytes | mmap

MAGIC: Final = struct.pack("<I", 0xBA55ED50)
HEADER: Final = struct.Struct("<IHHQ")
ENTRY: Final = struct.Struct("<HHIQIIHHIIIQQQ")
PTX: Final = 1
KINDS: Final = {PTX: "PTX", 2: "machine code", 8: "NVVM IR"}
LZ4, ZSTD = 0x2000, 0x8000
PACKAGES: Final = {"lz4": "lz4", "zstd": "zstandard"}  # Python package for each compression of an image
LONGEST_TEXT: Final = 1 << 29
"""Maximum size of a decompressed text in bytes; the largest known text has 12 million."""
_LZ4_RATIO = 255  # maximum number of bytes that one byte of an LZ4 block expands to
_LONGEST_HEADER = 4096
_ENTRY_VERSION = 0x101
_PIECE = 1 << 20


@value
class Image(Value):
    """An entry of a fat binary: kind, offset, payload, compression (`""`, `"lz4"`, `"zstd"`), size of its text."""

    kind: int
    offset: int
    start: int
    end: int
    compression: str
    size: int


def images(data: Bytes) -> Iterator[Image]:
    """Yield the entries of every fat binary in `data`, of all kinds.

    Programs that read or write fat binaries contain the magic number in their code, followed by arbitrary bytes. A
    match without a valid header and entry is skipped, except at the start of a file. Raise SourceError if a fat binary
    is truncated or damaged.
    """
    at = data.find(MAGIC)
    while at >= 0:
        end = at + len(MAGIC)
        header = _header(data, at)
        if header is not None:
            first, end = header
            yield from _entries(data, first, end)
        at = data.find(MAGIC, end)


def text_of(data: Bytes, image: Image) -> bytes:
    """Return the text of a PTX image, without its zero padding.

    Raise SourceError if it can't be decompressed, and ModuleNotFoundError if the decompression package is not
    installed.
    """
    payload = data[image.start : image.end]
    if image.compression == "lz4":
        payload = _lz4(payload, image)
    elif image.compression == "zstd":
        payload = _zstd(payload, image)
    text = payload.rstrip(b"\0")
    if b".version" not in text:
        raise _damaged(image.offset, "the entry's content is not PTX")
    return text


def missing_packages(found: list[Image]) -> tuple[str, ...]:
    """Return the packages that decompress these PTX images but are not installed."""
    needed = dict.fromkeys(PACKAGES[image.compression] for image in found if image.compression)
    return tuple(package for package in needed if find_spec(package) is None)


def _header(data: Bytes, at: int) -> tuple[int, int] | None:
    """Return the start and end of the entries of a fat binary at offset `at`; None without a valid header there."""
    if at + HEADER.size > len(data):
        return None
    _, version, header, size = HEADER.unpack_from(data, at)
    if version != 1 or not HEADER.size <= header <= _LONGEST_HEADER or header % 8:
        return None
    if at and size and not _is_entry(data, at + header):
        return None
    if at + header + size > len(data):
        raise _damaged(at, f"the file is {at + header + size - len(data)} bytes too short")
    return at + header, at + header + size


def _is_entry(data: Bytes, at: int) -> bool:
    if at + ENTRY.size > len(data):
        return False
    fields: tuple[int, ...] = ENTRY.unpack_from(data, at)
    _, version, header, *_ = fields
    return version == _ENTRY_VERSION and ENTRY.size <= header <= _LONGEST_HEADER and header % 8 == 0


def _entries(data: Bytes, at: int, end: int) -> Iterator[Image]:
    while at + ENTRY.size <= end:
        kind, _, header, padded, compressed, _, _, _, _, _, _, flags, _, size = ENTRY.unpack_from(data, at)
        start = at + header
        compression = "zstd" if flags & ZSTD else "lz4" if flags & LZ4 else ""
        length = compressed if compression else padded
        if header < ENTRY.size or start + padded > end or length > padded:
            raise _damaged(at, "inconsistent sizes")
        yield Image(kind, at, start, start + length, compression, size)
        at = start + padded
    if any(data[at:end]):
        raise _damaged(at, f"the last {end - at} bytes are not a fat binary entry")


def _lz4(payload: bytes, image: Image) -> bytes:
    if image.size > min(LONGEST_TEXT, _LZ4_RATIO * len(payload)):
        raise _too_long(image)
    block = importlib.import_module("lz4.block")  # not by an import statement, because lz4 has no type information
    try:
        text: bytes = block.decompress(payload, uncompressed_size=image.size)
    except block.LZ4BlockError as error:
        raise _damaged(image.offset, str(error)) from error
    return text


def _zstd(payload: bytes, image: Image) -> bytes:
    """Decompress an image in pieces, because the sizes in its entry and its payload are not trustworthy."""
    if image.size > LONGEST_TEXT:
        raise _too_long(image)
    import zstandard

    text = bytearray()
    try:
        with zstandard.ZstdDecompressor().stream_reader(payload) as reader:
            while piece := reader.read(_PIECE):
                text += piece
                if len(text) > LONGEST_TEXT:
                    raise _too_long(image)
    except zstandard.ZstdError as error:
        raise _damaged(image.offset, str(error)) from error
    return bytes(text)


def _damaged(offset: int, why: str) -> SourceError:
    return SourceError(f"the fat binary is damaged at byte {offset}: {why}")


def _too_long(image: Image) -> SourceError:
    return SourceError(f"the PTX at byte {image.offset} claims {image.size} bytes, which exceeds the limit")
