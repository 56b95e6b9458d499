"""Video instructions: arithmetic on bytes and halves of 32-bit registers, with a second operation on the result.

`types` is a tuple, of `d`, `a` and `b`: `ptx.vadd((s32, u32, u32), d, a, b, c, sat=True, second="add")` emits
`vadd.s32.u32.u32.sat.add d, a, b, c;`. A source may be a part of a register, written as a string: `"%r1.b0"`. From
sm_20 on most of them are several machine instructions. Manual: "Video Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from pyptx_dsl.instructions.forms.wrapper import Wrapper

if TYPE_CHECKING:
    from pyptx_dsl.instructions.forms.instruction_forms import Types
    from pyptx_dsl.registers.register import Reg

__all__ = [
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
]


class VideoModifiers(TypedDict, total=False):
    """Keywords of video instructions, for type checkers; the instruction table has the valid combinations."""

    sat: bool
    second: Literal["add", "min", "max"] | None
    op: Literal["add"] | None
    compare: Literal["eq", "ne", "lt", "le", "gt", "ge"] | None
    mode: Literal["clamp", "wrap"] | None
    po: bool
    scale: Literal["shr7", "shr15"] | None


class Video(Wrapper):
    """A video instruction: `ptx.name(types, dst, a, b, c=None, **modifiers)`."""

    def __call__(
        self,
        dtype: Types,
        dst: Reg | str,
        a: object,
        b: object,
        c: object | None = None,
        *,
        pred: Reg | None = None,
        **modifiers: Unpack[VideoModifiers],
    ) -> Reg | str:
        """Emit the instruction and return `dst`."""
        self._emit(dtype, (dst, a, b) if c is None else (dst, a, b, c), modifiers, pred)
        return dst


vadd = Video("vadd")
vsub = Video("vsub")
vabsdiff = Video("vabsdiff")
vmin = Video("vmin")
vmax = Video("vmax")
vshl = Video("vshl")
vshr = Video("vshr")
vmad = Video("vmad")
vset = Video("vset")
vadd2 = Video("vadd2")
vsub2 = Video("vsub2")
vavrg2 = Video("vavrg2")
vabsdiff2 = Video("vabsdiff2")
vmin2 = Video("vmin2")
vmax2 = Video("vmax2")
vset2 = Video("vset2")
vadd4 = Video("vadd4")
vsub4 = Video("vsub4")
vavrg4 = Video("vavrg4")
vabsdiff4 = Video("vabsdiff4")
vmin4 = Video("vmin4")
vmax4 = Video("vmax4")
vset4 = Video("vset4")
