"""The laws of the transpiler on modules out of a wheel: Python that is printed, plain and with every rule, emits them.

Up to `MOST` modules of a wheel, of at most `LARGEST` bytes, spread evenly over their sizes; each in a process of its
own pool, since printing and running a large module takes seconds. Of the first, ptxas makes the same machine code.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ProcessPoolExecutor
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
    from collections.abc import Sequence

    from .wheels import Found

MOST = 30
LARGEST = 2_000_000


@dataclass(frozen=True, slots=True)
class Transpiled:
    """How a module fared, plain or with rules: what broke (`""`: nothing), withdrawn claims, and seconds."""

    name: str
    sugar: bool
    fault: str
    withdrawn: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """One module to print: `unchecked` for those that the instruction table refuses as ptxas does."""

    text: bytes
    name: str
    unchecked: bool
    sugar: bool


def chosen(modules: Sequence[Found]) -> list[Found]:
    """Return the modules to transpile: all that are small enough or, of more than `MOST`, that many, spread by size."""
    small = sorted((one for one in modules if len(one.text) <= LARGEST), key=lambda one: (len(one.text), one.digest))
    count = min(len(small), MOST)
    return [small[at * len(small) // count] for at in range(count)]


def transpile_all(work: Sequence[Work], jobs: int) -> list[Transpiled]:
    """Hold the law on all of `work`, in so many worker processes."""
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(hold, work))


def hold(work: Work) -> Transpiled:
    """Print one module, run what is printed, and compare what that emits with the source."""
    started = time.perf_counter()
    source = decode(work.text)
    rules = manager().sugar_rules() if work.sugar else ()
    kind = "sugared" if work.sugar else "plain"
    try:
        done = transpile(source, rules, name=work.name, unchecked=work.unchecked)
        again = emitted(done.text)
    except PyptxError as error:
        fault = f"cannot be transpiled ({kind}): {error}"
        return Transpiled(work.name, work.sugar, fault, 0, time.perf_counter() - started)
    fault = "" if again == source else f"other bytes ({kind}): {first_difference(source, again)}"
    seconds = time.perf_counter() - started
    return Transpiled(work.name, work.sugar, fault, len(done.withdrawn), seconds)


def emitted(python: str) -> str:
    """Run printed Python and return the text that its module emits."""
    names: dict[str, object] = {"__name__": "printed"}
    exec(compile(python, "<printed>", "exec"), names)  # noqa: S102  what the transpiler wrote
    module = names["module"]
    assert isinstance(module, ModuleBuilder)
    return module.ptx()


def machine_code(text: bytes) -> str:
    """Return what is wrong with the machine code of one module's sugared Python; "" if ptxas refuses the source."""
    source = decode(text)
    target = re.search(r"^\s*\.target\s+(\w+)", source, re.MULTILINE)
    if target is None:
        return ""
    try:
        before = assemble(source, target[1])
    except (AssemblyError, ToolchainError):
        return ""
    after = assemble(emitted(transpile(source, manager().sugar_rules()).text), target[1])
    return "" if before.cubin == after.cubin else "the machine code of its Python is another one"
