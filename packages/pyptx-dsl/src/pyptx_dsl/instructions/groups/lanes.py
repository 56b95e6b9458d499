"""Instructions between the lanes of a warp: shuffles, votes, matches, reductions.

`ptx.shfl.sync.bfly`, `ptx.vote.sync.ballot`, `ptx.match.any.sync`, `ptx.redux.sync.add`, `ptx.activemask`.

`membermask` contains the participating lanes, by default all; each of them must execute the instruction. The
destination is the first argument and the source the second. A call without destination, in the order of CUDA's
functions (`__shfl_up_sync(mask, v, 1)`), raises an OperandError that shows the call of `ptx` and CUDA's call.

Manual: "shfl.sync", and "Parallel Synchronization and Communication Instructions: vote.sync, match.sync, redux.sync,
activemask".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.naming import to_ptx
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, u32

if TYPE_CHECKING:
    from pyptx_dsl.registers.register import Reg

__all__ = ["activemask", "match", "redux", "shfl", "vote"]

ALL = -1
"""The membermask of a whole warp: all 32 lanes."""


Method = TypeVar("Method", bound=Callable[..., object])


class LaneInstruction(InstructionForms):
    """An instruction between the lanes of a warp: its name, its operands, and the equivalent CUDA function."""

    def __init__(self, name: str, operands: str, cuda: str) -> None:
        """Create the function `ptx.<name>(operands…)`; `cuda` is the equivalent CUDA call."""
        super().__init__(f"ptx.{name}", ".".join(map(to_ptx, name.split("."))))
        self._operands = operands
        self._cuda = cuda

    def misused(self, wrong: str) -> OperandError:
        """Return an OperandError with a hint that contains the correct call of `ptx` and the equivalent CUDA call."""
        cuda = f" (CUDA: {self._cuda})" if self._cuda else ""
        return OperandError(f"{self._what}: {wrong}", help=f"write {self._what}({self._operands}){cuda}")

    def source(self, value: object, dst: object) -> object:
        """Return the source `value`; raise OperandError unless `value` and `dst` are registers or register names."""
        for place, operand in (("destination", dst), ("source, after the destination,", value)):
            if isinstance(operand, PtxType):
                raise self.misused(f"the function has no type argument, got {operand} as the {place.rstrip(',')}")
            if not isinstance(operand, Handle | str):
                raise self.misused(f"the {place} must be a register, got {operand!r}")
        return value


def _destination_first(method: Method) -> Method:
    """Wrap a method of a LaneInstruction: a call with too few operands raises the OperandError of `misused`."""
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount - len(method.__defaults__ or ())]

    @functools.wraps(method)
    def call(self: LaneInstruction, *operands: object, **keywords: object) -> object:
        missing = [name for name in names[len(operands) :] if name not in keywords]
        if missing:
            raise self.misused(f"missing operand {' and '.join(missing)}; the destination is the first operand")
        return method(self, *operands, **keywords)

    return cast("Method", call)


class Shuffle(LaneInstruction):
    """One mode of `shfl.sync`: `up`, `down`, `bfly` or `idx`."""

    def __init__(self, mode: str, clamp: int, cuda: str, lane: str) -> None:
        """Set the default `clamp` for a segment of 32 lanes; `lane` is CUDA's name of the lane operand."""
        super().__init__(f"shfl.sync.{mode}", f"dst, v, {lane}", f"dst = {cuda}(mask, v, {lane})")
        self._clamp = clamp

    @emits(p="|")
    @_destination_first
    def __call__(
        self,
        dst: Reg,
        src: object,
        lane: object,
        clamp: object | None = None,
        membermask: object = ALL,
        *,
        p: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `shfl.sync.mode.b32 d{|p}, src, lane, clamp, membermask;` and return `d`; 32-bit registers of any type.

        `clamp` is the manual's `c`: the last lane (`up`: the first, 0) in bits 0–4, a segment mask in bits 8–12. `p` is
        whether the source lane was in range.
        """
        target: object = dst if p is None else PipeRef(dst, p)
        operands = (target, self.source(src, dst), lane, self._clamp if clamp is None else clamp, membermask)
        active(repr(self)).emit(self.words(), operands, pred)
        return dst


class ShuffleModes:
    """The modes of `shfl.sync`: source lane is lane - n (`up`), lane + n (`down`), lane ^ n (`bfly`), or n (`idx`)."""

    up = Shuffle("up", 0, "__shfl_up_sync", "delta")
    down = Shuffle("down", 31, "__shfl_down_sync", "delta")
    bfly = Shuffle("bfly", 31, "__shfl_xor_sync", "lane_mask")
    idx = Shuffle("idx", 31, "__shfl_sync", "lane")


class Shfl:
    """`ptx.shfl`: shuffles `ptx.shfl.sync.<mode>`."""

    sync = ShuffleModes()


class VoteMode(LaneInstruction):
    """One mode of `vote.sync`: `all`, `any`, `uni` or `ballot`."""

    def __init__(self, mode: str, cuda: str) -> None:
        """Create the function `ptx.vote.sync.<mode>`."""
        super().__init__(f"vote.sync.{mode}", "dst, p", cuda and f"dst = {cuda}(mask, p)")

    @_destination_first
    def __call__(self, dst: Reg, a: Reg, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `vote.sync.mode.pred d, a, membermask;` (`ballot`: `.b32`) and return `d`."""
        active(repr(self)).emit(self.words(), (dst, self.source(a, dst), membermask), pred)
        return dst


class VoteModes:
    """Modes of `vote.sync`: `a` is true in all lanes (`all`), in some (`any`), equal (`uni`); lane mask (`ballot`)."""

    all = VoteMode("all", "__all_sync")
    any = VoteMode("any", "__any_sync")
    uni = VoteMode("uni", "")
    ballot = VoteMode("ballot", "__ballot_sync")


class Vote:
    """`ptx.vote`: votes `ptx.vote.sync.<mode>`."""

    sync = VoteModes()


class MatchAny(LaneInstruction):
    """`ptx.match.any.sync`: for each lane, the mask of lanes with the same value."""

    @_destination_first
    def sync(self, dtype: PtxType, dst: Reg, a: object, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `match.any.sync.bN d, a, membermask;` and return `d`: the mask of the lanes with the same `a`."""
        active(repr(self)).emit(self.words(dtype), (dst, self.source(a, dst), membermask), pred)
        return dst


class MatchAll(LaneInstruction):
    """`ptx.match.all.sync`: whether all lanes have the same value."""

    @emits(p="|")
    @_destination_first
    def sync(
        self,
        dtype: PtxType,
        dst: Reg,
        a: object,
        membermask: object = ALL,
        *,
        p: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `match.all.sync.bN d{|p}, a, membermask;`; return `d`: membermask if all `a` are equal (`p`), else 0."""
        target = dst if p is None else PipeRef(dst, p)
        active(repr(self)).emit(self.words(dtype), (target, self.source(a, dst), membermask), pred)
        return dst


class Match:
    """`ptx.match`: comparisons of a register between lanes, `ptx.match.any.sync` and `ptx.match.all.sync`."""

    any = MatchAny("match.any.sync", "type, dst, v", "dst = __match_any_sync(mask, v)")
    all = MatchAll("match.all.sync", "type, dst, v, p=…", "dst = __match_all_sync(mask, v, &p)")


class Reduction(LaneInstruction):
    """One reduction of `redux.sync`, such as `add`."""

    def __init__(self, name: str) -> None:
        """Create the function `ptx.redux.sync.<name>`; the instruction table defines its types."""
        super().__init__(f"redux.sync.{name}", "type, dst, v", f"dst = __reduce_{to_ptx(name)}_sync(mask, v)")

    @_destination_first
    def __call__(
        self,
        dtype: PtxType,
        dst: Reg,
        src: object,
        membermask: object = ALL,
        *,
        abs: bool = False,  # noqa: A002  the manual's word
        nan: bool = False,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `redux.sync.op{.abs}{.NaN}.type d, src, membermask;` and return `d`: all lanes get the same result.

        From sm_80. The f32 forms, the only ones with `abs` and `nan`: from sm_100a.
        """
        active(repr(self)).emit(self.words(dtype, abs=abs, nan=nan), (dst, self.source(src, dst), membermask), pred)
        return dst


class Reductions:
    """The reductions of `redux.sync`: `add`, `min`, `max`, and the bitwise `and_`, `or_`, `xor_`."""

    add = Reduction("add")
    min = Reduction("min")
    max = Reduction("max")
    and_ = Reduction("and_")
    or_ = Reduction("or_")
    xor_ = Reduction("xor_")


class Redux:
    """`ptx.redux`: reductions `ptx.redux.sync.<operation>`."""

    sync = Reductions()


def activemask(dst: Reg | None = None, *, pred: Reg | None = None) -> Reg:
    """Emit `activemask.b32 d;` and return `d` (a fresh u32 register by default): the currently active lanes."""
    trace = active("ptx.activemask")
    register = trace.fresh(u32) if dst is None else dst
    trace.emit(("activemask", "b32"), (register,), pred)
    return register


shfl = Shfl()
vote = Vote()
match = Match()
redux = Redux()
