"""Decoding of wgmma modifiers and immediates.

Manual: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_arch_hopper.fragments import wgmma_fragment
from pyptx_arch_hopper.sim.wgmma.described import WGMMA, WgmmaDescription
from pyptx_arch_hopper.sim.wgmma.issue import ASYNC_REGISTERS, compile_product
from pyptx_sim.extension import InstructionSemantics

if TYPE_CHECKING:
    from pyptx_sim.extension import Action, Operands
    from pyptx_sim.extension.shared_matrices import Major

__all__ = ["STEPS"]

_MAJORS: tuple[Major, Major] = ("K", "MN")


def _bind(operands: Operands) -> WgmmaDescription:
    """Return the `WgmmaDescription` of a `wgmma.mma_async{.sp}.sync.aligned.shape.d.a.b{.and.popc}{.satfinite}`."""
    d, a, b, *_ = operands.behind("shape")
    columns, depth = (int(number) for number in operands.word("shape").removeprefix("m64n").split("k"))
    sparse = bool(operands.word("sp"))
    stored = depth // 2 if sparse else depth

    def immediate(name: str) -> int:
        return operands.number(name) if name in operands.names else 0

    return WgmmaDescription(
        types=(d, a, b),
        columns=columns,
        depth=depth,
        d=wgmma_fragment("d", columns, d),
        a=wgmma_fragment("a", stored, a) if "a" in operands.names else None,
        majors=(_MAJORS[immediate("trans_a")], _MAJORS[immediate("trans_b")]),
        negates=(immediate("scale_a") < 0, immediate("scale_b") < 0),
        selector=immediate("sel") if sparse else None,
        saturates=bool(operands.word("satfinite")),
        operation=operands.word("and"),
    )


def _product(operands: Operands) -> Action:
    return compile_product(operands, _bind(operands))


def _fence(operands: Operands) -> Action:
    if not operands.checked:
        return operands.nothing()
    order = operands.register_checker(ASYNC_REGISTERS)
    return operands.action(lambda turn: turn.part(order).fence(turn))


def _commit(operands: Operands) -> Action:
    return operands.action(lambda turn: turn.commit(WGMMA))


def _wait(operands: Operands) -> Action:
    latest = operands.number("n")
    return operands.action(lambda turn: turn.wait(WGMMA, latest))


STEPS: Final = (
    InstructionSemantics(
        opcode="wgmma.mma_async",
        effect="issue",
        compile=_product,
        converges="warpgroup",
        synchronizes_warp=True,
        async_registers=ASYNC_REGISTERS,
    ),
    InstructionSemantics(opcode="wgmma.fence", effect="order", compile=_fence),
    InstructionSemantics(opcode="wgmma.commit_group", effect="issue", compile=_commit),
    InstructionSemantics(opcode="wgmma.wait_group", effect="order", compile=_wait),
)
