"""`pyptx check` on one module, compared with ptxas: a module that ptxas accepts has no error."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pyptx_ir.isa.modules import check_text
from pyptx_ir.syntax import decode
from pyptx_ir.toolchain.finder import find_tool
from pyptx_ir.toolchain.runner import run

_TARGET = re.compile(rb"\.target[ \t]+sm_(\d+)([af]?)")
_OLDEST = 75  # oldest target of current ptxas, sm_75; ptxas assembles PTX of older targets for it


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a check: errors and warnings, the first error, whether ptxas rejects the module too, and run time.

    `refused` is determined only if there are errors. `retired`: the module is for a device older than the instruction
    table, so its instructions are not checked.
    """

    errors: int
    warnings: int
    first: str
    refused: bool
    retired: bool
    seconds: float

    @property
    def fault(self) -> str:
        """The first error of `pyptx check` about a module that ptxas accepts, or an empty string."""
        return "" if self.refused else self.first


def check(data: bytes, name: str) -> Checked:
    """Run `pyptx check` on a module; if it reports an error, run ptxas on the module."""
    started = time.perf_counter()
    found = check_text(decode(data), name)
    seconds = time.perf_counter() - started
    errors = [one for one in found if one.is_error]
    first = ""
    if errors:
        first = f"line {errors[0].line}: {errors[0].code}: {errors[0].message}"
    refused = bool(errors) and not ptxas_takes(data)
    retired = any(one.code == "retired-target" for one in found)
    return Checked(len(errors), len(found) - len(errors), first, refused, retired, seconds)


def ptxas_takes(data: bytes) -> bool:
    """Return whether ptxas assembles a module, for its own target or for the oldest target that ptxas supports."""
    target = _TARGET.search(data)
    number, suffix = (int(target[1]), target[2].decode()) if target else (_OLDEST, "")
    arch = f"sm_{number}{suffix}" if number >= _OLDEST else f"sm_{_OLDEST}"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.ptx").write_bytes(data)
        arguments = [f"-arch={arch}", "-O0", "-c", "m.ptx", "-o", "m.o"]
        return run(find_tool("ptxas"), arguments, Path(folder)).status == 0
