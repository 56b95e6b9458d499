"""The walk over fat binaries, on binaries made here byte by byte."""

from __future__ import annotations

import zlib

import pytest

from .fatbin import ENTRY, HEADER, LZ4, MAGIC, ZSTD, bare_texts, images, spans, text_of

MODULE = b"//\n// made here\n//\n\n.version 9.0\n.target sm_75\n.address_size 64\n\n.visible .entry k()\n{\n\tret;\n}\n"
OTHER = MODULE.replace(b"sm_75", b"sm_90a")


def inflate(payload: bytes, size: int) -> bytes:
    return zlib.decompress(payload)[:size]


def inflate_marked(payload: bytes, size: int) -> bytes:
    return inflate(payload.removeprefix(b"Z"), size)


DECODERS = {"lz4": inflate, "zstd": inflate_marked}


def entry(text: bytes, *, kind: int = 1, flags: int = 0, target: int = 75, extra: int = 16) -> bytes:
    """Return an entry; zlib stands for the compressions, with a letter in front for zstandard."""
    payload = text
    if flags & (LZ4 | ZSTD):
        payload = (b"Z" if flags & ZSTD else b"") + zlib.compress(text)
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
    return [text_of(data, image, DECODERS) for image in images(data)]


@pytest.mark.parametrize("flags", [0, LZ4, ZSTD], ids=["raw", "lz4", "zstd"])
def test_a_text_comes_out_as_it_went_in_however_it_is_compressed(flags: int) -> None:
    assert found(binary(entry(MODULE, flags=flags))) == [MODULE]


def test_padding_is_taken_off_and_the_texts_own_end_kept() -> None:
    for tail in (b"", b"\n", b"\n\n", b" "):
        assert found(binary(entry(MODULE + tail))) == [MODULE + tail]


def test_only_ptx_images_are_taken() -> None:
    data = binary(entry(b"\x7fELF" + bytes(60), kind=2), entry(MODULE), entry(MODULE, kind=8), entry(OTHER, flags=LZ4))
    assert found(data) == [MODULE, OTHER]


def test_targets_are_read() -> None:
    data = binary(entry(MODULE), entry(OTHER, target=90))
    assert [image.target for image in images(data)] == [75, 90]


def test_binaries_are_found_anywhere_in_a_file() -> None:
    data = b"junk" * 5 + binary(entry(MODULE)) + b"\0" * 13 + binary(entry(OTHER, flags=ZSTD)) + b"tail"
    assert found(data) == [MODULE, OTHER]
    assert [data[begin : begin + 4] for begin, _, _ in spans(data)] == [MAGIC, MAGIC]


def test_headers_longer_than_known_are_stepped_over() -> None:
    assert found(binary(entry(MODULE, extra=40), entry(OTHER, extra=0), header=24)) == [MODULE, OTHER]


def test_a_magic_number_by_chance_is_no_binary() -> None:
    data = MAGIC + b"\x02\x00" + bytes(40) + MAGIC + binary(entry(MODULE)) + MAGIC
    assert found(data) == [MODULE]


def test_every_cut_of_a_binary_ends_quietly() -> None:
    data = binary(entry(MODULE), entry(OTHER, flags=LZ4))
    for length in range(len(data)):
        assert found(data[:length]) == []


def test_an_entry_that_claims_too_much_ends_the_walk() -> None:
    second = bytearray(entry(OTHER))
    second[8:16] = (10**12).to_bytes(8, "little")
    assert found(binary(entry(MODULE), bytes(second))) == [MODULE]


def test_bare_text_is_found_with_the_comments_above_it_and_up_to_its_nul() -> None:
    data = b"\0\x01\xff" + MODULE + b"\0\0" + b".version strings alone are no module\0" + OTHER + b"\0"
    assert list(bare_texts(data)) == [MODULE, OTHER]


def test_bare_text_inside_a_binary_is_left_to_the_walk() -> None:
    data = binary(entry(MODULE)) + b"\0" + OTHER + b"\0"
    assert list(bare_texts(data)) == [OTHER]
