"""Published wheels: cached downloads, and extraction of the PTX modules in their files."""

from __future__ import annotations

import hashlib
import mmap
import re
import subprocess
import sys
import tempfile
import zipfile
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_ir.sources.fatbin import PTX, Bytes, Image, images, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ELF = b"\x7fELF"
ARCHIVE = b"!<arch>\n"
WINDOWS = b"MZ"
# A module begins with its .version, or with the comments that compilers write before it.
_BARE = re.compile(rb"(?://[^\n\0]*\n|[ \t\r\n])*\.version[ \t]+\d+\.\d+[^\0]*?\.target[ \t]+\w[^\0]*")
TEXT_SUFFIXES = (".ptx", ".cubin.ptx", ".fatbin", ".o", ".a", ".bc")


class FetchError(Exception):
    """Error: pip could not download a wheel."""


@dataclass(frozen=True, slots=True)
class WheelModule:
    """PTX module of a wheel: the file that contains it, its bytes, and their hash."""

    file: str
    text: bytes
    digest: str


@dataclass(frozen=True, slots=True)
class Sample:
    """PTX modules taken from a wheel, out of `distinct` modules; `files` is the wheel's number of files with PTX."""

    modules: tuple[WheelModule, ...]
    distinct: int
    files: int


def fetch(requirement: str, cache: Path) -> Path:
    """Return the wheel of `requirement` from `cache`; download it first if necessary.

    Raises FetchError with pip's message if the download fails: a missing network is an error, never an empty run.
    """
    folder = cache / requirement
    present = sorted(folder.glob("*.whl"))
    if present:
        return present[-1]
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run([*command, "--dest", str(folder), requirement], capture_output=True, text=True, check=False)
    present = sorted(folder.glob("*.whl"))
    if done.returncode or not present:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise FetchError(f"{requirement} could not be downloaded: {words[-1] if words else 'no message of pip'}")
    return present[-1]


def take(wheel: Path, limit: int | None) -> Sample:
    """Return the distinct PTX modules of a wheel; with `limit`, at most that many, those with the smallest hashes.

    Members are unpacked one at a time into a temporary file and mapped, so that memory holds one module at a time.
    """
    kept: dict[str, WheelModule] = {}
    seen: set[str] = set()
    files: set[str] = set()
    for file, text in _texts(wheel):
        digest = hashlib.sha256(text).hexdigest()
        files.add(file)
        if digest in seen:
            continue
        seen.add(digest)
        kept[digest] = WheelModule(file, text, digest)
        if limit is not None and len(kept) > limit:
            del kept[max(kept)]
    return Sample(tuple(kept[digest] for digest in sorted(kept)), len(seen), len(files))


def _texts(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if not member.file_size:
                continue
            with archive.open(member) as stream:
                head = stream.read(len(ARCHIVE))
            if member.filename.endswith(TEXT_SUFFIXES) or head.startswith((ELF, ARCHIVE, WINDOWS)):
                yield from _texts_of_member(archive, member)


def _texts_of_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(archive.extract(member, folder))
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if member.filename.endswith(".ptx"):
                yield member.filename, data[:].rstrip(b"\0")
                return
            payloads: set[bytes] = set()
            found = list(images(data))
            for image in found:
                if image.kind == PTX and _is_new(data, image, payloads):
                    yield member.filename, text_of(data, image)
            for text in bare_texts(data, found):
                yield member.filename, text


def bare_texts(data: Bytes, found: Sequence[Image]) -> Iterator[bytes]:
    """Yield the modules in `data` that are plain text outside the fat binaries `found`, each up to its first NUL."""
    starts = [image.start for image in found]
    for match in _BARE.finditer(data):
        nearest = bisect_right(starts, match.start()) - 1
        if nearest < 0 or found[nearest].end <= match.start():
            yield match[0]


def _is_new(data: mmap.mmap, image: Image, payloads: set[bytes]) -> bool:
    """Return whether a compressed payload is new: libraries repeat payloads, and unpacking is the slowest step."""
    digest = hashlib.sha256(data[image.start : image.end]).digest()
    if digest in payloads:
        return False
    payloads.add(digest)
    return True
