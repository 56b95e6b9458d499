"""Accesses to multimem addresses. Manual: "Multimem Addresses", "multimem.ld_reduce", "multimem.st", "multimem.red".

A multimem address stands for one place on each device of a team. Here there is one device, so it is an address like any
other: a reduction over all places is the value of the only one. What more devices would add is not simulated, nor is it
found when a program uses the address otherwise, for nothing tells which addresses these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_sim.errors import MissingSemantics
from pyptx_sim.extension import Step
from pyptx_sim.types import byte_size

if TYPE_CHECKING:
    from pyptx_sim.extension import Action, Operands

# The instructions that do the same at one place, by the word behind `multimem`.
_ALIKE: Final = {"ld_reduce": "ld", "st": "st", "red": "red", "cp": "cp"}
# Of one value, the reduction is the value, whatever the operation and its precision.
_REDUCES: Final = frozenset({"op", "add", "acc::f16", "acc::f32"})
_PACKED: Final = ("f16", "bf16", "e4m3", "e5m2")


def compile_multimem(operands: Operands) -> Action:
    """Compile what the instruction does at its only place."""
    words = dict(operands.words)
    kind = next(kind for kind in _ALIKE if words.pop(kind, ""))
    if kind in {"st", "red"} and "async" in words:
        raise MissingSemantics(f"the simulator has no semantics for multimem.{kind}.async")
    if kind == "ld_reduce":
        words = {slot: word for slot, word in words.items() if slot not in _REDUCES}
    if kind in {"ld_reduce", "st"} and words["type"].startswith(_PACKED):
        words["type"] = f"b{8 * byte_size(words['type'])}"  # loads and stores name the bits of such a type
    return operands.alike((_ALIKE[kind], *words.values()))


STEPS: Final = (Step(opcode="multimem", effect="access", compile=compile_multimem),)
