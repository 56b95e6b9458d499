"""PTX modules of the folder `corpus`, by producer (a compiler, or `handmade`)."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
FOLDERS = sorted({path.parent.name for path in CORPUS.glob("*/*.ptx")})
BY_HAND = "handmade"


@cache
def _refused() -> frozenset[str]:
    rows = tomllib.loads((CORPUS / "manifest.toml").read_text(encoding="utf-8"))["module"]
    return frozenset(row["path"] for row in rows if not row["assembles"])


def refused(path: Path) -> bool:
    """Return whether ptxas rejects a module; the instruction table rejects it too, so tests transpile it unchecked."""
    return path.relative_to(CORPUS).as_posix() in _refused()
