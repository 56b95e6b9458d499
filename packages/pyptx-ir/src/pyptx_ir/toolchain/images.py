"""Extract PTX from objects, libraries, programs and fat binaries; cuobjdump replaces missing decompression packages."""

from __future__ import annotations

import mmap
import re
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from pyptx_ir.plugins.source_rows import CommandInput, PtxSource, SourceFormat
from pyptx_ir.sources import fatbin
from pyptx_ir.sources.errors import SourceError
from pyptx_ir.sources.texts import modules_of_listing
from pyptx_ir.syntax.source import decode
from pyptx_ir.toolchain.errors import MissingToolError, ToolchainError
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CUBIN = re.compile(rb"\x7fELF.{14}\xbe\x00", re.DOTALL)  # ELF header with e_machine EM_CUDA, 190


def extract(image: bytes) -> bytes:
    """Return cuobjdump's listing of the PTX in an image: modules with headings, which `parse` reads.

    Raise ToolchainError if cuobjdump is missing or rejects the image, or if the image has no PTX.
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
            "the image contains only machine code, no PTX",
            help="compile the program with PTX: nvcc -gencode …,code=compute_90",
        )
    return listing


def read(source: CommandInput) -> Sequence[PtxSource]:
    """Return the PTX images in an input, in the order of their offsets.

    Raises:
        SourceError: there are none, one is truncated or damaged, or no installed package decompresses them.

    """
    with _named(source), _contents(source) as data:
        found = list(fatbin.images(data))
        images = [image for image in found if image.kind == fatbin.PTX]
        if not images:
            raise _without_ptx(source, found)
        missing = fatbin.missing_packages(images)
        if missing:
            return modules_of_listing(_listing(data, missing), source.name)
    return tuple(
        PtxSource(source.name, partial(_text, source, image), number, image.offset)
        for number, image in enumerate(images, 1)
    )


def _text(source: CommandInput, image: fatbin.Image) -> str:
    with _named(source), _contents(source) as data:
        return decode(fatbin.text_of(data, image))


def _listing(data: fatbin.Bytes, missing: Sequence[str]) -> str:
    try:
        return decode(extract(data[:]))
    except MissingToolError as error:
        raise SourceError(
            f"can't decompress the PTX: neither {' and '.join(missing)} nor cuobjdump is installed",
            help=f"pip install {' '.join(missing)}",
        ) from error
    except ToolchainError as error:
        raise SourceError(error.message, help=error.help) from error


def _without_ptx(source: CommandInput, found: Sequence[fatbin.Image]) -> SourceError:
    if not found and not _CUBIN.match(source.head):
        return SourceError("no PTX: the file contains no fat binary")
    kinds = Counter(fatbin.KINDS.get(image.kind, f"kind {image.kind}") for image in found)
    held = ", ".join(f"{kind} ({count})" for kind, count in kinds.items()) or "machine code"
    return SourceError(f"no PTX, only {held}", help="compile the program with PTX: nvcc -gencode …,code=compute_90")


@contextmanager
def _named(source: CommandInput) -> Iterator[None]:
    """Prepend the name of the input to the message of a SourceError that the `with` body raises."""
    try:
        yield
    except SourceError as error:
        raise SourceError(f"{source.name}: {error.message}", help=error.help) from error.__cause__


@contextmanager
def _contents(source: CommandInput) -> Iterator[fatbin.Bytes]:
    """Open the bytes of an input; a file is mapped, so that only the accessed pages take memory."""
    if source.path is None:
        yield source.held
        return
    with source.path.open("rb") as file:
        if not source.head:  # `mmap` rejects an empty file
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


FORMAT: Final = SourceFormat(
    "image",
    read,
    re.compile(rb"\x7fELF|\x50\xed\x55\xba|!<(?:arch|thin)>\n|MZ|\xcf\xfa\xed\xfe"),
    re.compile(r"\.(?:fatbin|cubin|obj|o|a|lib|dll|exe|so(?:\.\d+)*)$", re.IGNORECASE),
)
