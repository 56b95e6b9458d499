"""What wgmma means to the simulator: its words and immediates as data.

Manual: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation", "Matrix Descriptor Format".
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.descriptors import FIELD_BITS, UNIT_BYTES
from pyptx_arch_hopper.fragments import wgmma_fragment
from pyptx_arch_hopper.products import forms
from pyptx_arch_hopper.sim.wgmma.described import CommitGroup, RegisterFence, WaitGroup, WarpgroupProduct
from pyptx_arch_hopper.sim.wgmma.issue import CLAIMS, compile_action
from pyptx_ir.syntax.operands import Immediate, Vector
from pyptx_sim.extension import Step
from pyptx_sim.machine.memory.shared_matrices import SharedMatrix
from pyptx_sim.semantics.errors import NoSemantics

if TYPE_CHECKING:
    from pyptx_arch_hopper.products import Form
    from pyptx_ir.syntax.nodes import Instruction
    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.memory.shared_matrices import Major
    from pyptx_sim.machine.scheduling.code import Action

__all__ = ["STEPS", "read_descriptor"]

_MASK = (1 << FIELD_BITS) - 1
_LEADING, _STRIDE, _BASE, _SWIZZLE = 16, 32, 49, 62
_WIDTHS = (16, 128, 64, 32)  # of the pattern, by the descriptor's swizzle
_MAJORS: tuple[Major, Major] = ("K", "MN")


@lru_cache(maxsize=1024)
def read_descriptor(bits: int) -> SharedMatrix:
    """Return the matrix that a descriptor tells of; `pyptx_arch_hopper.descriptors` has the fields."""
    return SharedMatrix(
        start=(bits & _MASK) * UNIT_BYTES,
        leading=(bits >> _LEADING & _MASK) * UNIT_BYTES,
        stride=(bits >> _STRIDE & _MASK) * UNIT_BYTES,
        swizzle=_WIDTHS[bits >> _SWIZZLE & 3],
        base=bits >> _BASE & 7,
    )


def _bind_product(instruction: Instruction) -> WarpgroupProduct:
    """Read `wgmma.mma_async{.sp}.sync.aligned.shape.d.a.b{.and.popc}{.satfinite}`."""
    words = [word for word in instruction.opcode[2:] if word not in {"sync", "aligned"}]
    sparse = words[0] == "sp"
    shape, d, a, b, *rest = words[sparse:]
    form = _form(instruction, (d, a, b))
    columns, depth = (int(number) for number in shape.removeprefix("m64n").split("k"))
    operands = instruction.operands
    in_registers = isinstance(operands[1], Vector)
    scale = 5 if sparse else 3
    numbers = [_immediate(instruction, position) for position in range(scale + 1, len(operands))]
    signs = (numbers.pop(0), numbers.pop(0)) if form.negates else (1, 1)
    turns = ([0] * in_registers + numbers) if form.transposes else [0, 0]
    stored = depth // 2 if sparse else depth
    return WarpgroupProduct(
        types=(d, a, b),
        columns=columns,
        depth=depth,
        d=wgmma_fragment("d", columns, d),
        a=wgmma_fragment("a", stored, a) if in_registers else None,
        read=read_descriptor,
        scale=scale,
        majors=(_MAJORS[turns[0]], _MAJORS[turns[1]]),
        negates=(signs[0] < 0, signs[1] < 0),
        selector=_immediate(instruction, 4) if sparse else None,
        saturates="satfinite" in rest,
        operation="and" if "and" in rest else "",
    )


def _form(instruction: Instruction, types: tuple[str, str, str]) -> Form:
    found = next((form for form in forms() if (form.d, form.a, form.b) == types), None)
    if found is None:
        raise NoSemantics(instruction)
    return found


def _immediate(instruction: Instruction, position: int) -> int:
    operand = instruction.operands[position]
    if not isinstance(operand, Immediate):
        raise NoSemantics(instruction, f"operand {position} is no constant")
    return int(operand.text, 0)


def _product(operands: Operands) -> Action:
    return compile_action(operands, _bind_product(operands.instruction))


def _fence(operands: Operands) -> Action:
    return compile_action(operands, RegisterFence())


def _commit(operands: Operands) -> Action:
    return compile_action(operands, CommitGroup())


def _wait(operands: Operands) -> Action:
    return compile_action(operands, WaitGroup(_immediate(operands.instruction, 0)))


STEPS: Final = (
    Step(opcode="wgmma.mma_async", effect="issue", compile=_product, converges="warpgroup", claims=CLAIMS),
    Step(opcode="wgmma.fence", effect="order", compile=_fence),
    Step(opcode="wgmma.commit_group", effect="issue", compile=_commit),
    Step(opcode="wgmma.wait_group", effect="order", compile=_wait),
)
