"""PTX images to load: entries with given parameters and an empty body."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

POINTER = ".param .u64 p{}"
MAP = ".param .align 64 .b8 p{}[128]"


def scalar(type_: str) -> str:
    """Return the declaration of a scalar parameter; PTX declares 16-bit floats as .b16."""
    return f".param .{'b16' if type_ in ('f16', 'bf16') else type_} p{{}}"


def image(*parameters: str, entry: str = "k") -> bytes:
    """Return the PTX of a module with one entry of an empty body."""
    declared = ", ".join(each.format(number) for number, each in enumerate(parameters))
    return f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {entry}({declared})\n{{ ret; }}\n".encode()


def ptxas() -> str:
    """Return the path of ptxas: from PATH, or from NVIDIA's wheel."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec and spec.submodule_search_locations else ()
    in_wheels = [path for folder in folders for path in Path(folder).glob("*/bin/ptxas")]
    found = shutil.which("ptxas") or (str(in_wheels[0]) if in_wheels else None)
    assert found is not None
    return found
