"""What hardware gave, as data: a file for each target, ready to be committed and asked by tests that have no GPU.

The file is JSON: `device`, `driver` and `target` say where it was recorded; `results` holds arrays by name, each with
its type and shape and the base64 of its zlib-compressed bytes. What was put in is not stored: the tests make it again.

`python -m tests.gpu.golden FOUND KEPT` makes of what a run left what is committed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

WHOLE = 1024  # words: what has more is recorded as a digest
OF_THE_RUN = ("(hardware)", "(simulator)", "(cases)")  # what ends names of what only the run itself is about


def held(array: np.ndarray) -> np.ndarray:
    """Return what is recorded of an array: itself, or 16 bytes that tell it from others."""
    if array.size <= WHOLE:
        return array
    return np.frombuffer(hashlib.blake2b(array.tobytes(), digest_size=16).digest(), np.uint8)


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


def keep(found: Path, kept: Path) -> None:
    """Write what a run has recorded without what only says how the run went."""
    where = json.loads(found.read_text(encoding="utf-8"))
    del where["results"]
    results = {name: array for name, array in read(found).items() if not name.endswith(OF_THE_RUN)}
    add(kept, where, results)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
