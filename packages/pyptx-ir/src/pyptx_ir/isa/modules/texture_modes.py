"""Texture mode of `.target`: whether samplers are separate variables; unified by default.

Measured on ptxas 13.0, which accepts a sampler in a register in either mode; manual: "Texturing Modes".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.syntax.nodes import Variable
from pyptx_ir.syntax.operands import Address, Symbol, TensorAddress

if TYPE_CHECKING:
    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Function, Instruction

INDEPENDENT = "texmode_independent"
_PLACE_OF_SAMPLER = 3  # number of parts of a texture operand with a sampler: [texture, sampler, {coordinates}]


def declared(walk: Walk, node: Variable | Function) -> None:
    """Reject sampler variables in unified mode, in which a texture contains its own sampler."""
    if walk.independent_textures:
        return
    if isinstance(node, Variable):
        names = [one.name for one in node.declarators] if node.type == "samplerref" else []
    else:
        names = [one.name for one in node.parameters or () if one.type == "samplerref"]
    for name in names:
        message = f"sampler '{name}' in texmode_unified, in which each texture has its own sampler"
        help = f"add {INDEPENDENT} to .target, or remove the sampler"
        walk.report(Finding("directive-conflict", message, help, word=name))


def fetch(walk: Walk, node: Instruction) -> None:
    """Require a sampler operand with each texture in independent mode."""
    for index, operand in enumerate(node.operands):
        if isinstance(operand, TensorAddress) and len(operand.elements) < _PLACE_OF_SAMPLER:
            _report(walk, f"{node.opcode[0]} without a sampler", "write [texture, sampler, {…}]", index)


def query(walk: Walk, node: Instruction) -> None:
    """Reject queries of a texture for sampler attributes in independent mode."""
    for index, operand in enumerate(node.operands):
        if isinstance(operand, Address) and isinstance(operand.base, Symbol) and _asks_a_sampler(node):
            name = operand.base.name
            if walk.scope[name] == ".texref":
                _report(walk, f"query of .{node.opcode[1]} on texture '{name}'", "query the sampler variable", index)


def _asks_a_sampler(node: Instruction) -> bool:
    return any(word == "filter_mode" or word.startswith("addr_mode_") for word in node.opcode)


def _report(walk: Walk, message: str, help: str, operand: int) -> None:
    if walk.independent_textures:
        message += f" in {INDEPENDENT} (separate samplers)"
        walk.report(Finding("operand-kind", message, f"{help}, or remove {INDEPENDENT} from .target", operand=operand))
