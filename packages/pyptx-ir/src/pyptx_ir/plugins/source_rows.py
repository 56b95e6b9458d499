"""Inputs of commands, the PTX modules in them, and rows for kinds of inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)


@value
class Input(Value):
    """What a command was asked to read.

    `name` is for messages: a path, or `<stdin>`. `head` holds the first bytes (at most 4,096), and is empty where there
    is no such file. `path` leads to a regular file; of everything else, which can be read only once, `held` has all
    bytes.
    """

    name: str
    head: bytes = b""
    path: Path | None = None
    held: bytes = b""

    def data(self) -> bytes:
        """Return all bytes. Raise OSError if the file can't be read."""
        return self.held if self.path is None else self.path.read_bytes()


@value
class PtxSource(Value):
    """One PTX module in an input.

    `load()` returns its text, read anew each time; it raises SourceError where the module can't be decompressed. Of an
    input that holds images, `number` counts them from 1, and `offset` is where the image lies, in bytes from the
    beginning of the input; `number` is 0 where the input as a whole is the module.
    """

    file: str
    load: Callable[[], str]
    number: int = 0
    offset: int = 0

    @property
    def name(self) -> str:
        """What messages call the module, and what commands take for it: `lib.so#2`; of a PTX file, its path."""
        return f"{self.file}#{self.number}" if self.number else self.file


@value
class SourceFormat(Value):
    """A kind of inputs of commands.

    An input is of this kind if its first bytes match `begins` (at their start), or else, if no kind's do, its name
    matches `named` (anywhere). `read` returns the PTX modules in it, at least one, or raises SourceError or OSError.
    """

    name: str
    read: Callable[[Input], Sequence[PtxSource]]
    begins: re.Pattern[bytes] | None = None
    named: re.Pattern[str] | None = None


def target_of(text: str) -> str:
    """Return the first name in a module's `.target`, or an empty string."""
    found = _TARGET.search(text)
    return found[1] if found else ""
