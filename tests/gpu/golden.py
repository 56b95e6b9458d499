"""Hardware results as data: one file per target, which is committed for tests that have no GPU.

The file is JSON. `device`, `driver` and `target` describe where it was recorded; `results` contains arrays by name,
each with type, shape and the base64 of its zlib-compressed bytes. Inputs are not stored: the tests generate them again.

`python -m tests.gpu.golden FOUND KEPT` extracts the file to commit from the results of a run.
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

WHOLE = 1024  # maximum elements of an array that is recorded in full; a larger array is recorded as a digest
OF_THE_RUN = ("(hardware)", "(simulator)", "(cases)")  # suffixes of names of results that describe only this run


def held(array: np.ndarray) -> np.ndarray:
    """Return the record of an array: the array, or a 16-byte digest if it is large."""
    if array.size <= WHOLE:
        return array
    return np.frombuffer(hashlib.blake2b(array.tobytes(), digest_size=16).digest(), np.uint8)


def packed(array: np.ndarray) -> dict[str, Any]:
    """Return an array in JSON form."""
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
    return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}


def unpacked(entry: Mapping[str, Any]) -> np.ndarray:
    """Return the array of a JSON entry."""
    data = zlib.decompress(base64.b64decode(entry["data"]))
    return np.frombuffer(data, dtype=entry["dtype"]).reshape(entry["shape"])


def read(path: Path) -> dict[str, np.ndarray]:
    """Return the recorded arrays of a file, by name."""
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    return {name: unpacked(entry) for name, entry in results.items()}


def add(path: Path, where: Mapping[str, object], results: Mapping[str, np.ndarray]) -> None:
    """Write results to a file, in addition to the results that the file contains."""
    held = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else {}
    held.update({name: packed(array) for name, array in results.items()})
    text = json.dumps({**where, "results": held}, indent=0, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def keep(found: Path, kept: Path) -> None:
    """Add the results of a run to the file `kept`, without results that only concern the run itself."""
    where = json.loads(found.read_text(encoding="utf-8"))
    del where["results"]
    results = {name: array for name, array in read(found).items() if not name.endswith(OF_THE_RUN)}
    add(kept, where, results)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(sys.argv[2]))
