"""Rebuilding properties of one module: anything that a compiler emits can be written by hand.

The module is printed as Python that calls only public names (`tests.rebuild.printer`), and run. The result is the same
tree and, in the style inferred from the source, the same bytes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.rebuild.printer import printed

from pyptx.modules import ModuleBuilder
from pyptx_ir.errors import PyptxError
from pyptx_ir.syntax import PtxSyntaxError, decode, parse, walk
from pyptx_ir.syntax.style import infer_style, stripped

from .laws import first_difference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.syntax import nodes
    from pyptx_ir.syntax.style import Style

    from .work import PrintTask


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """Rebuilding result of a module: fault (`""` if none), number of statements, of those not in the style, seconds."""

    fault: str
    statements: int
    deviating: int
    seconds: float


def rebuild(work: PrintTask) -> Rebuilt:
    """Check that one module is rebuilt as the same tree and as the same bytes."""
    started = time.perf_counter()
    text, name = decode(work.text), work.name
    try:
        tree = parse(text, name)
    except PtxSyntaxError as error:
        return Rebuilt(f"does not parse: {error}", 0, 0, time.perf_counter() - started)
    style = infer_style(tree)
    python = list(printed(stripped(tree, style), unchecked=work.unchecked))
    fault = _fault(python, name, text, tree, style)
    deviating = sum(part.count(".written(") for part in python)
    return Rebuilt(fault, sum(1 for _ in walk(tree)), deviating, time.perf_counter() - started)


def _fault(python: Iterable[str], name: str, text: str, tree: nodes.Module, style: Style) -> str:
    """Return the first difference between the module that the Python builds and the parsed one, or an empty string."""
    try:
        module = run(python, name)
        if module.module() != tree:
            return "the rebuilt tree differs"
        again = module.ptx(style=style)
    except PyptxError as error:
        return f"cannot be rebuilt: {error}"
    return "" if again == text else f"the rebuilt bytes differ: {first_difference(text, again)}"


def run(python: Iterable[str], name: str) -> ModuleBuilder:
    """Run the Python that `tests.rebuild.printer` printed for a module, and return the module that this code builds."""
    names: dict[str, object] = {}
    for part in python:
        exec(compile(part, f"<{name}>", "exec"), names)  # noqa: S102  output of the printer
    module = names["m"]
    assert isinstance(module, ModuleBuilder)
    return module
