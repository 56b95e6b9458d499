"""The modules of the corpus, by producer, and which of them a test takes: a few of each by default.

`PYPTX_KERNELS=all` takes all of them, as `nox -s kernels` does; so the tests don't grow with the corpus.
"""

from __future__ import annotations

import os
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

EVERYTHING = os.environ.get("PYPTX_KERNELS") == "all"
CORPUS = Path(__file__).resolve().parents[1] / "corpus"
FOLDERS = sorted({path.parent.name for path in CORPUS.glob("*/*.ptx")})
BY_HAND = "handmade"


@cache
def _refused() -> frozenset[str]:
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    return frozenset(row["path"] for row in rows if not row["assembles"])


def refused(path: Path) -> bool:
    """Tell whether ptxas refuses a module; so does the instruction table, and it is written unchecked."""
    return path.relative_to(CORPUS).as_posix() in _refused()


def share(modules: Sequence[T], turn: int, most: int) -> list[T]:
    """Return what a test takes of one producer's modules: at most so many, evenly spread; other turns take others."""
    if EVERYTHING:
        return list(modules)
    count = min(len(modules), most)
    return [modules[(at * len(modules) // count + turn) % len(modules)] for at in range(count)]
