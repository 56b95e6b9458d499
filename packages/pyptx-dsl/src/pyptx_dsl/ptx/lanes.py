"""Instructions between the lanes of a warp: shuffles, votes, matches, reductions.

`ptx.shfl.sync.bfly`, `ptx.vote.sync.ballot`, `ptx.match.any.sync`, `ptx.redux.sync.add`, `ptx.activemask`.

`membermask` names the lanes that take part, all of them unless said otherwise; each of them must execute the
instruction. Manual: "shfl.sync", and "Parallel Synchronization and Communication Instructions: vote.sync, match.sync,
redux.sync, activemask".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.errors import OperandError
from pyptx_dsl.operands import PipeRef
from pyptx_dsl.ptx.wrapper import ptx_type
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import PtxType, u32

if TYPE_CHECKING:
    from pyptx_dsl.register import Reg

__all__ = ["activemask", "match", "redux", "shfl", "vote"]

ALL = -1
"""The member mask of a whole warp."""


class Shuffle:
    """One mode of `shfl.sync`."""

    def __init__(self, mode: str, clamp: int) -> None:
        """`clamp` is the `c` that lets every lane of the warp be read."""
        self._mode = mode
        self._clamp = clamp

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

        `clamp` is the manual's `c`: the last lane (`up`: the first, 0) in bits 0–4, a segment mask in bits 8–12. `p`
        gets whether the source lane was in range.
        """
        target: object = dst if p is None else PipeRef(dst, p)
        operands = (target, src, lane, self._clamp if clamp is None else clamp, membermask)
        active("ptx.shfl").emit(("shfl", "sync", self._mode, "b32"), operands, pred)
        return dst


class ShuffleModes:
    """The modes of `shfl.sync`: read from a lane below, above, across (xor), or by index."""

    up = Shuffle("up", 0)
    down = Shuffle("down", 31)
    bfly = Shuffle("bfly", 31)
    idx = Shuffle("idx", 31)


class Shfl:
    """`ptx.shfl.sync.<mode>`."""

    sync = ShuffleModes()


class VoteModes:
    """The modes of `vote.sync`; each call emits one instruction."""

    def all(self, dst: Reg, a: Reg, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `vote.sync.all.pred d, a, membermask;` and return `d`: `a` is true in every lane."""
        return _vote("all", "pred", (dst, a, membermask), pred)

    def any(self, dst: Reg, a: Reg, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `vote.sync.any.pred d, a, membermask;` and return `d`: `a` is true in some lane."""
        return _vote("any", "pred", (dst, a, membermask), pred)

    def uni(self, dst: Reg, a: Reg, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `vote.sync.uni.pred d, a, membermask;` and return `d`: `a` is the same in every lane."""
        return _vote("uni", "pred", (dst, a, membermask), pred)

    def ballot(self, dst: Reg, a: Reg, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `vote.sync.ballot.b32 d, a, membermask;` and return `d`: the lanes in which `a` is true."""
        return _vote("ballot", "b32", (dst, a, membermask), pred)


def _vote(mode: str, word: str, operands: tuple[Reg, Reg, object], pred: Reg | None) -> Reg:
    active("ptx.vote").emit(("vote", "sync", mode, word), operands, pred)
    return operands[0]


class Vote:
    """`ptx.vote.sync.<mode>`."""

    sync = VoteModes()


class MatchAny:
    """`ptx.match.any.sync`."""

    def sync(self, dtype: PtxType, dst: Reg, a: object, membermask: object = ALL, *, pred: Reg | None = None) -> Reg:
        """Emit `match.any.sync.bN d, a, membermask;` and return `d`: the lanes that hold the same value."""
        words = ("match", "any", "sync", f"b{ptx_type(dtype, 'ptx.match.any.sync').bits}")
        active("ptx.match").emit(words, (dst, a, membermask), pred)
        return dst


class MatchAll:
    """`ptx.match.all.sync`."""

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
        """Emit `match.all.sync.bN d{|p}, a, membermask;`; return `d`: the mask if all agree, else 0; `p` tells."""
        words = ("match", "all", "sync", f"b{ptx_type(dtype, 'ptx.match.all.sync').bits}")
        active("ptx.match").emit(words, (dst if p is None else PipeRef(dst, p), a, membermask), pred)
        return dst


class Match:
    """`ptx.match.any.sync` and `ptx.match.all.sync`."""

    any = MatchAny()
    all = MatchAll()


class Reduction:
    """One operation of `redux.sync`."""

    def __init__(self, name: str, types: tuple[str, ...], *, bits: bool = False) -> None:
        """Describe `redux.sync.name` for some types."""
        self._name = name
        self._types = types
        self._bits = bits

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
        """Emit `redux.sync.op{.abs}{.NaN}.type d, src, membermask;` and return `d`: every lane gets the same.

        From sm_80; the f32 forms, and with them `abs` and `nan`, from sm_100a.
        """
        what = f"ptx.redux.sync.{self._name}"
        checked = ptx_type(dtype, what)
        if checked.name not in self._types:
            raise OperandError(f"{what} has no form for {checked}", hint=f"it takes {', '.join(self._types)}")
        flags = [word for word, asked in (("abs", abs), ("NaN", nan)) if asked]
        words = ("redux", "sync", self._name, *flags, f"b{checked.bits}" if self._bits else checked.name)
        active(what).emit(words, (dst, src, membermask), pred)
        return dst


class Reductions:
    """The operations of `redux.sync`."""

    add = Reduction("add", ("u32", "s32"))
    min = Reduction("min", ("u32", "s32", "f32"))
    max = Reduction("max", ("u32", "s32", "f32"))
    and_ = Reduction("and", ("b32", "u32", "s32"), bits=True)
    or_ = Reduction("or", ("b32", "u32", "s32"), bits=True)
    xor_ = Reduction("xor", ("b32", "u32", "s32"), bits=True)


class Redux:
    """`ptx.redux.sync.<operation>`."""

    sync = Reductions()


def activemask(dst: Reg | None = None, *, pred: Reg | None = None) -> Reg:
    """Emit `activemask.b32 d;` and return `d` (a fresh u32 register if none is given): the lanes that are here now."""
    trace = active("ptx.activemask")
    register = trace.fresh(u32) if dst is None else dst
    trace.emit(("activemask", "b32"), (register,), pred)
    return register


shfl = Shfl()
vote = Vote()
match = Match()
redux = Redux()
