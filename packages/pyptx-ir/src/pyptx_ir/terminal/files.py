"""Files that get the standard output of a command."""

from __future__ import annotations

import io
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class PlainText(io.TextIOWrapper):
    """A text stream that never gets colors."""


@contextmanager
def output_to(path: str) -> Iterator[None]:
    """Write what the block prints to a file, at its end.

    The file is written even if the block prints nothing, or is interrupted; it is not if the block raises another
    error.

    Raises:
        OSError: the file cannot be written. A missing folder is found before the block runs.

    """
    file = Path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(file.parent))
    printed = io.BytesIO()
    text = PlainText(printed, encoding="utf-8", errors="surrogateescape", newline="", write_through=True)
    try:
        with redirect_stdout(text):
            yield
    except KeyboardInterrupt:
        file.write_bytes(printed.getvalue())
        raise
    file.write_bytes(printed.getvalue())
