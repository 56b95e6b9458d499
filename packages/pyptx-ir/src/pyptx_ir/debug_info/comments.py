"""Inlined calls in LLVM's comments: `.loc 2 24 41 // device.h:24:41 @[ kernel.cu:16:22 ]`.

LLVM emits `inlined_at` since release 23; before, only the comment of a `.loc` has the calls (`DebugLoc::print`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_COMMENT: Final = re.compile(r"[ \t]*// (?P<calls>\S.*?:\d+:\d+(?: @\[ \S.*?:\d+:\d+)+)(?: \])+[ \t\r]*(?:\n|\Z)")
_CALL: Final = re.compile(r"(?P<file>.*):(?P<line>\d+):\d+", re.DOTALL)


def commented_calls(trivia: str, files: Mapping[int, str]) -> Iterator[tuple[str, int]]:
    """Yield file and line of each call in a `.loc`'s comment, from the innermost call outwards.

    `trivia` is the text after the `.loc`. The comment has the file names that the compiler got, which may lack the
    folder; the calls end at a name that fits none of the module's `files`, or several.
    """
    found = _COMMENT.match(trivia)
    if found is None:
        return
    for text in found["calls"].split(" @[ ")[1:]:
        call = _CALL.fullmatch(text)
        fitting = {file for file in files.values() if call is not None and _ends_with(file, call["file"])}
        if call is None or len(fitting) != 1:
            return
        yield fitting.pop(), int(call["line"])


def _ends_with(file: str, name: str) -> bool:
    return file == name or file.endswith(f"/{name.removeprefix('./')}")
