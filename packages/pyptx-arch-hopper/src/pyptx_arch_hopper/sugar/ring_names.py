"""Python names of a PTX module's mbarrier rings, and their definitions at the head of the generated file.

Arguments that several rings share are bound once: `barrier_ring = partial(ptx.mbarrier.ring, form=…)`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

from pyptx_arch_hopper.sugar.ring_addresses import number
from pyptx_arch_hopper.sugar.ring_uses import arrivals, ring_waits
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Constant
from pyptx_transpile.printing.layout import call
from pyptx_transpile.rules.waits import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyptx_arch_hopper.sugar.ring_uses import Said
    from pyptx_transpile.reading.rows import Row
    from pyptx_transpile.rules.waits import Options

__all__ = ["Rings", "rings"]

_RINGS_OF_A_NAME = 3  # maximum number of mbarrier rings with the same purpose, for example `full`, `full_2`, `full_3`
# Names of Python variables that transpiled kernels may use for wait options that several mbarrier rings share.
_COMMON = ("barrier_ring", "barrier_ring_2", "barrier_ring_3")
_LEAST = 2  # wait options get a variable if at least this number of mbarrier rings share them
Rings: TypeAlias = "Mapping[Said, Constant]"
"""Named constant of each mbarrier ring, by the ring's properties."""


def rings(row: Row) -> Rings:
    """Return the named mbarrier rings of a PTX module; names state the purpose of the mbarriers, if known."""
    counted, arrived = _arrivals(row)
    said = list(dict.fromkeys(_said(row)))
    common = _commons(said)
    numbers: defaultdict[str, int] = defaultdict(int)
    named: dict[Said, Constant] = {}
    for each in said:
        name = "full" if each[0] in counted else "empty" if each[0] in arrived else "barriers"
        numbers[name] += 1
        if numbers[name] <= _RINGS_OF_A_NAME:
            numbered = name if numbers[name] == 1 else f"{name}_{numbers[name]}"
            named[each] = _constant(numbered, each, common.get(each[2]))
    return named


def _said(row: Row) -> Iterator[Said]:
    """Yield the properties of mbarrier rings with waits, then of rings without waits."""
    waited = {ring.said: None for body in row.bodies() for ring in ring_waits(body)}
    yield from waited
    known = {said[:2] for said in waited}
    for body in row.bodies():
        yield from (each.said for each in arrivals(body) if each.place.stage and each.said[:2] not in known)


def _commons(said: Iterable[Said]) -> dict[Options, Constant]:
    """Return the sets of wait options that several mbarrier rings share, each with a Python variable."""
    counts = Counter(options for _, _, options in said)
    shared = [options for options, count in counts.items() if options and count >= _LEAST]
    return {
        options: Constant(name, call("partial", ["ptx.mbarrier.ring", *_written(options)]))
        for name, options in zip(_COMMON, shared, strict=False)
    }


def _constant(name: str, said: Said, common: Constant | None) -> Constant:
    offset, address, options = said
    own = [] if offset == 0 else [f"byte_offset={offset}"]
    own.append(f"address={literal(address)}")
    if common is not None:
        return Constant(name, call(common.name, own), made_of=common)
    return Constant(name, call("ptx.mbarrier.ring", [*own, *_written(options)]))


def _written(options: Options) -> Sequence[str]:
    return [f"{name}={literal(value)}" for name, value in options]


def _arrivals(row: Row) -> tuple[set[int], set[int]]:
    """Return the offsets of mbarriers with expect-tx (full barriers), and of mbarriers with other arrivals only."""
    counted: set[int] = set()
    arrived: set[int] = set()
    for body in row.bodies():
        added: dict[tree.Operand, int] = {}
        for at in body.places("add", "cvt", "mbarrier"):
            match body.branch(at):
                case nodes.Instruction(("add", *_), (result, _, tree.Immediate(text))) if text.isdecimal():
                    added[result] = int(text)
                case nodes.Instruction(("cvt", *_), (result, source)) if source in added:
                    added[result] = added[source]
                case nodes.Instruction(("mbarrier", "arrive", *words), operands):
                    (counted if "expect_tx" in words else arrived).update(_distances(operands, added))
                case _:
                    pass
    return counted, arrived - counted


def _distances(operands: Sequence[tree.Operand], added: dict[tree.Operand, int]) -> Iterator[int]:
    """Yield the offset in bytes of the mbarrier operand from the base of the mbarrier ring, if known."""
    for operand in operands:
        if isinstance(operand, tree.Address):
            distance = number(operand.offset) if operand.offset is not None else added.get(operand.base)
            yield from () if distance is None else (distance,)
