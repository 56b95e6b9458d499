"""The buffers of the tensor core that keep a factor from product to product. Manual: "tcgen05.mma", `.collector_usage`.

Products are computed from what lies in memory: reuse is a permission. What is judged is whether it was given rightly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pyptx_arch_blackwell.sim.mma.products import Products
    from pyptx_sim.extension import Operands, Turn, Wave

__all__ = ["Collectors", "collecting"]

_RULE: Final = "tensor-collector"
_HINT: Final = "fill it first (.collector::…::fill), by a product with the same matrix"
_READS: Final = ("use", "lastuse")
_KEEPS: Final = ("fill", "use")


class _Kept(NamedTuple):
    """What a buffer holds: where the matrix lies, how much of it was read, and by which instruction."""

    matrix: int
    extent: object
    pc: int


def collecting(operands: Operands) -> tuple[tuple[str, str], ...]:
    """Return the buffers that an instruction uses, each with what it does there; what it does not name it discards."""
    default = "b0" if "ws" in operands.opcode else "a"
    said = [word.split("::") for word in operands.opcode if word.startswith("collector::")]
    return tuple((buffer, does) for _, buffer, does in said) or ((default, "discard"),)


class Collectors:
    """What the buffers of each block, or of the pair that begins with it, hold."""

    def __init__(self, wave: Wave) -> None:
        """Begin with nothing."""
        self._wave = wave
        self._kept: dict[tuple[int, str], _Kept] = {}

    def judge(self, turn: Turn, products: Products, uses: tuple[tuple[str, str], ...]) -> None:
        """Report products that take a matrix from a buffer which does not hold it; note what it holds then."""
        plan = products.plan
        for number, block in enumerate(products.blocks.tolist()):
            for buffer, does in uses:
                factor, extent = (products.a, plan.a) if buffer == "a" else (products.b, plan.b)
                now = _Kept(int(factor[number]), extent, turn.pc)
                if does in _READS:
                    self._expect(now, self._kept.get((block, buffer)), buffer)
                if does in _KEEPS:
                    self._kept[block, buffer] = now
                else:
                    self._kept.pop((block, buffer), None)

    def _expect(self, now: _Kept, kept: _Kept | None, buffer: str) -> None:
        if kept is None:
            message = f"a product takes its matrix from the collector {buffer}, which holds none"
            self._wave.report(_RULE, message, now.pc, hint=_HINT)
        elif kept[:2] != now[:2]:
            message = f"a product takes its matrix from the collector {buffer}, which holds another one"
            self._wave.report(_RULE, message, now.pc, other_pc=kept.pc, hint=_HINT)
