"""Inputs of `pyptx` commands, their PTX modules and kernels, and rows for input formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pyptx_ir.values import Value, value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_TARGET = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)


@value
class CommandInput(Value):
    """Input of a command.

    `name` is for messages: a path, or `<stdin>`. `head` contains the first bytes (at most 4,096); it is empty if the
    file does not exist. `path` is set for a regular file. Any other input can be read only once, so `held` contains all
    its bytes.
    """

    name: str
    head: bytes = b""
    path: Path | None = None
    held: bytes = b""

    def data(self) -> bytes:
        """Return all bytes of the input. Raise OSError if the file can't be read."""
        return self.held if self.path is None else self.path.read_bytes()


@value
class RunnableKernel(Value):
    """A kernel of an input that can be run with arrays, without a launch of its PTX.

    `inputs` are the name, the PTX type and the shape of each argument; the shape of a number is None. `outputs` are
    the names of the arrays that the kernel returns. `column_major` are the names of inputs with unit stride on
    dimension 0. `simulate(*inputs, **options)` runs it on the simulator.
    """

    inputs: tuple[tuple[str, str, tuple[int, ...] | None], ...]
    outputs: tuple[str, ...]
    simulate: Callable[..., Any]
    column_major: tuple[str, ...] = ()


@value
class PtxSource(Value):
    """One PTX module in an input.

    `load()` reads and returns its text at each call; it raises SourceError if the module can't be decompressed. If the
    input contains images, `number` counts them from 1, and `offset` is the byte offset of the image in the input.
    `number` is 0 if the whole input is the module. `kernel` is the kernel with this PTX, if it has arrays of its own.
    """

    file: str
    load: Callable[[], str]
    number: int = 0
    offset: int = 0
    kernel: RunnableKernel | None = None

    @property
    def name(self) -> str:
        """Name of the module in messages and as an argument of commands: `lib.so#2`; the path for a PTX file."""
        return f"{self.file}#{self.number}" if self.number else self.file


@value
class SourceFormat(Value):
    """An input format of commands.

    An input has this format if its first bytes match `begins`. If no format matches, a format applies whose `named`
    matches anywhere in the input's name. `read` returns its PTX modules, at least one, or raises SourceError or
    OSError.
    """

    name: str
    read: Callable[[CommandInput], Sequence[PtxSource]]
    begins: re.Pattern[bytes] | None = None
    named: re.Pattern[str] | None = None


def target_of(text: str) -> str:
    """Return the first name in a module's `.target`, or an empty string if it has none."""
    found = _TARGET.search(text)
    return found[1] if found else ""
