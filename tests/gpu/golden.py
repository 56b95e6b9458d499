"""What hardware gave, as data: a file for each target, ready to be committed and asked by tests that have no GPU.

The file is JSON: `device`, `driver` and `target` say where it was recorded; `results` holds arrays by name, each with
its type and shape and the base64 of its zlib-compressed bytes. What was put in is not stored: the tests make it again.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def packed(array: np.ndarray) -> dict[str, Any]:
    """Return an array as JSON takes it."""
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def unpacked(entry: Mapping[str, Any]) -> np.ndarray:
    """Return the array again."""
    data = zlib.decompress(base64.b64decode(entry["data"]))
    return np.frombuffer(data, dtype=entry["dtype"]).reshape(entry["shape"])


def read(path: Path) -> dict[str, np.ndarray]:
    """Return what a file holds, by name."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    return {name: unpacked(entry) for name, entry in results.items()}


def add(path: Path, where: Mapping[str, object], results: Mapping[str, np.ndarray]) -> None:
    """Write results into a file, beside those that it holds already."""
    held = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else {}
    held.update({name: packed(array) for name, array in results.items()})
    text = json.dumps({**where, "results": held}, indent=0, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
