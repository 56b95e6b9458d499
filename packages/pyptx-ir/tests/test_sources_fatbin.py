"""Fat binaries built byte by byte: their PTX, and errors for damaged, truncated and oversized ones."""

from __future__ import annotations

import importlib
import struct
import tracemalloc
from contextlib import suppress

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pyptx_ir.sources import SourceError
from pyptx_ir.sources.fatbin import ENTRY, HEADER, LONGEST_TEXT, LZ4, MAGIC, PTX, ZSTD, images, text_of

MODULE = b"//\n// made here\n//\n\n.version 9.0\n.target sm_75\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n"
OTHER = MODULE.replace(b"sm_75", b"sm_90a")


lz4 = importlib.import_module("lz4.block")  # imported by name: lz4 has no type stubs


def compressed_as(text: bytes, flags: int) -> bytes:
    if flags & ZSTD:
        return zstandard.ZstdCompressor().compress(text)
    packed: bytes = lz4.compress(text, store_size=False)
    return packed if flags & LZ4 else text


def entry(text: bytes, *, kind: int = 1, flags: int = 0, target: int = 75, extra: int = 16) -> bytes:
    """Return an entry of a fat binary."""
    payload = compressed_as(text, flags)
    padded = -(-len(payload) // 8) * 8
    compressed = len(payload) if flags & (LZ4 | ZSTD) else 0
    size = len(text) if compressed else 0
    head = ENTRY.pack(kind, 0x101, ENTRY.size + extra, padded, compressed, 0, 0, 9, target, 0, 0, 0x11 | flags, 0, size)
    return head + bytes(extra) + payload.ljust(padded, b"\0")


def binary(*entries: bytes, header: int = HEADER.size) -> bytes:
    """Return a fat binary of these entries."""
    body = b"".join(entries)
    return HEADER.pack(int.from_bytes(MAGIC, "little"), 1, header, len(body)).ljust(header, b"\0") + body


def found(data: bytes) -> list[bytes]:
    return [text_of(data, image) for image in images(data) if image.kind == PTX]


@pytest.mark.parametrize("flags", [0, LZ4, ZSTD], ids=["raw", "lz4", "zstd"])
def test_a_text_comes_out_as_it_went_in_however_it_is_compressed(flags: int) -> None:
    assert found(binary(entry(MODULE, flags=flags))) == [MODULE]


def test_padding_is_taken_off_and_the_texts_own_end_kept() -> None:
    for tail in (b"", b"\n", b"\n\n", b" "):
        assert found(binary(entry(MODULE + tail))) == [MODULE + tail]


def test_only_ptx_images_are_taken() -> None:
    data = binary(entry(b"\x7fELF" + bytes(60), kind=2), entry(MODULE), entry(MODULE, kind=8), entry(OTHER, flags=LZ4))
    assert found(data) == [MODULE, OTHER]


def test_binaries_are_found_anywhere_in_a_file() -> None:
    data = b"junk" * 5 + binary(entry(MODULE)) + b"\0" * 13 + binary(entry(OTHER, flags=ZSTD)) + b"tail"
    assert found(data) == [MODULE, OTHER]


def test_headers_longer_than_known_are_stepped_over() -> None:
    assert found(binary(entry(MODULE, extra=40), entry(OTHER, extra=0), header=24)) == [MODULE, OTHER]


def test_a_magic_number_by_chance_is_no_binary() -> None:
    data = MAGIC + b"\x02\x00" + bytes(40) + MAGIC + binary(entry(MODULE)) + MAGIC
    assert found(data) == [MODULE]


def test_every_cut_of_a_binary_is_said() -> None:
    data = binary(entry(MODULE), entry(OTHER, flags=LZ4))
    for length in range(HEADER.size, len(data)):
        with pytest.raises(SourceError, match=f"the file is {len(data) - length} bytes too short"):
            found(data[:length])


@pytest.mark.parametrize(
    ("at", "value"),
    [(4, 3), (8, 10**12), (16, 10**8)],
    ids=["header", "padded payload", "compressed payload"],
)
def test_an_entry_whose_sizes_contradict_each_other_is_said(at: int, value: int) -> None:
    second = bytearray(entry(OTHER, flags=LZ4))
    width = 8 if at == 8 else 4
    second[at : at + width] = value.to_bytes(width, "little")
    with pytest.raises(SourceError, match="inconsistent sizes"):
        found(binary(entry(MODULE), bytes(second)))


@pytest.mark.parametrize("size", [8, 1 << 62], ids=["inside the file", "beyond the file"])
def test_a_header_in_the_code_of_a_program_is_skipped(size: int) -> None:
    """Programs that write fat binaries contain the first bytes of a header as a constant, followed by instructions."""
    constant = HEADER.pack(int.from_bytes(MAGIC, "little"), 1, HEADER.size, size) + b"\x48\x89\x03" * 40
    assert found(b"\x48\xb8" + constant + binary(entry(MODULE)) + constant) == [MODULE]


def test_bytes_after_the_last_entry_are_said_unless_they_are_padding() -> None:
    assert found(binary(entry(MODULE), bytes(24))) == [MODULE]
    with pytest.raises(SourceError, match="the last 24 bytes are not a fat binary entry"):
        found(binary(entry(MODULE), b"\x01" * 24))


@pytest.mark.parametrize("flags", [LZ4, ZSTD], ids=["lz4", "zstd"])
def test_a_payload_that_cannot_be_decompressed_is_said(flags: int) -> None:
    data = bytearray(binary(entry(MODULE, flags=flags)))
    data[HEADER.size + ENTRY.size + 16 : HEADER.size + ENTRY.size + 48] = bytes(range(200, 232))
    with pytest.raises(SourceError, match="the fat binary is damaged at byte 16"):
        found(bytes(data))


def test_what_is_decompressed_and_is_no_ptx_is_said() -> None:
    with pytest.raises(SourceError, match="the entry's content is not PTX"):
        found(binary(entry(b"int main() {}", flags=LZ4)))


@pytest.mark.parametrize("flags", [LZ4, ZSTD], ids=["lz4", "zstd"])
def test_no_memory_is_taken_for_a_size_that_is_only_claimed(flags: int) -> None:
    data = bytearray(binary(entry(MODULE, flags=flags)))
    struct.pack_into("<Q", data, HEADER.size + ENTRY.size - 8, 1 << 62)
    tracemalloc.start()
    with pytest.raises(SourceError, match="claims 4611686018427387904 bytes"):
        found(bytes(data))
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_a_payload_longer_than_it_claims_is_cut_off_by_the_longest_text(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LONGEST_TEXT > 40 * 12_100_000  # 12.1 MB: the longest PTX text found so far
    monkeypatch.setattr("pyptx_ir.sources.fatbin.LONGEST_TEXT", 1 << 21)
    with pytest.raises(SourceError, match="exceeds the limit"):
        found(binary(entry(MODULE + bytes(1 << 23), flags=ZSTD)))


WHOLE = binary(entry(MODULE), entry(OTHER, flags=LZ4), entry(OTHER, flags=ZSTD))


@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, len(WHOLE)),
)
def test_a_binary_with_changed_bytes_is_read_or_is_one_error(changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(WHOLE)
    for at, value in changes:
        data[at] = value
    with suppress(SourceError):
        found(bytes(data[:length]))
    with suppress(SourceError):
        found(bytes(data))
