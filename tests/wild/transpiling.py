"""Round trip of one module through the transpiler: printed Python, with or without sugar rules, emits the same bytes.

For one module of each wheel, the machine code by ptxas is compared too.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx.codegen import transpile
from pyptx.modules import ModuleBuilder
from pyptx_ir.errors import PyptxError
from pyptx_ir.plugins.manager import manager
from pyptx_ir.syntax import decode
from pyptx_ir.toolchain import AssemblyError, ToolchainError, assemble

from .laws import first_difference

if TYPE_CHECKING:
    from .work import PrintTask


@dataclass(frozen=True, slots=True)
class Transpiled:
    """Transpiling result of a module, with or without sugar rules: fault (`""` if none), rejected rewrites, seconds."""

    name: str
    sugar: bool
    fault: str
    rejected: int
    seconds: float


def hold(work: PrintTask, sugar: bool) -> Transpiled:  # noqa: FBT001 - mapped over a pool, which passes by position
    """Transpile one module, run the printed Python, and compare its PTX with the source."""
    started = time.perf_counter()
    source = decode(work.text)
    rules = manager().sugar_rules() if sugar else ()
    kind = "sugared" if sugar else "plain"
    try:
        done = transpile(source, rules, name=work.name, unchecked=work.unchecked)
        again = emitted(done.text)
    except PyptxError as error:
        fault = f"cannot be transpiled ({kind}): {error}"
        return Transpiled(work.name, sugar, fault, 0, time.perf_counter() - started)
    fault = "" if again == source else f"bytes differ ({kind}): {first_difference(source, again)}"
    seconds = time.perf_counter() - started
    return Transpiled(work.name, sugar, fault, len(done.rejected), seconds)


def emitted(python: str) -> str:
    """Run printed Python and return the text that its module emits."""
    names: dict[str, object] = {"__name__": "printed"}
    exec(compile(python, "<printed>", "exec"), names)  # noqa: S102  output of the transpiler
    module = names["module"]
    assert isinstance(module, ModuleBuilder)
    return module.ptx()


def machine_code(text: bytes) -> str:
    """Compare machine code of a module and of its sugared Python; return "" if equal or if ptxas rejects the source."""
    source = decode(text)
    target = re.search(r"^\s*\.target\s+(\w+)", source, re.MULTILINE)
    if target is None:
        return ""
    try:
        before = assemble(source, target[1])
    except (AssemblyError, ToolchainError):
        return ""
    after = assemble(emitted(transpile(source, manager().sugar_rules()).text), target[1])
    return "" if before.cubin == after.cubin else "machine code of the source and of its Python differs"
