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


vadd = Video("vadd", "Add two registers, or bytes or halves of registers.")
vsub = Video("vsub", "Subtract two registers, or bytes or halves of registers.")
vabsdiff = Video("vabsdiff", "Absolute difference of two registers, or of bytes or halves of registers.")
vmin = Video("vmin", "Minimum of two registers, or of bytes or halves of registers.")
vmax = Video("vmax", "Maximum of two registers, or of bytes or halves of registers.")
vshl = Video("vshl", "Shift a register, byte or half left; `mode` is for amounts above 31 (default: `clamp`).")
vshr = Video("vshr", "Shift a register, byte or half right; `mode` is for amounts above 31 (default: `clamp`).")
vmad = Video("vmad", "Multiply registers, bytes or halves, and add `c`; `scale` shifts the result right, `po` adds 1.")
vset = Video("vset", "Compare two registers, or bytes or halves of registers: 1 if `compare` is true, else 0.")
vadd2 = Video("vadd2", 'Add the 16-bit halves of two registers; `op="add"` adds the results to `c`.')
vsub2 = Video("vsub2", 'Subtract the 16-bit halves of two registers; `op="add"` adds the results to `c`.')
vavrg2 = Video("vavrg2", 'Average the 16-bit halves of two registers; `op="add"` adds the results to `c`.')
vabsdiff2 = Video(
    "vabsdiff2", 'Absolute differences of the 16-bit halves of two registers; `op="add"` adds the results to `c`.'
)
vmin2 = Video("vmin2", 'Minimum of the 16-bit halves of two registers; `op="add"` adds the results to `c`.')
vmax2 = Video("vmax2", 'Maximum of the 16-bit halves of two registers; `op="add"` adds the results to `c`.')
vset2 = Video("vset2", 'Compare the 16-bit halves of two registers, to 1 or 0; `op="add"` adds the results to `c`.')
vadd4 = Video("vadd4", 'Add the bytes of two registers; `op="add"` adds the results to `c`.')
vsub4 = Video("vsub4", 'Subtract the bytes of two registers; `op="add"` adds the results to `c`.')
vavrg4 = Video("vavrg4", 'Average the bytes of two registers; `op="add"` adds the results to `c`.')
vabsdiff4 = Video(
    "vabsdiff4", 'Absolute differences of the bytes of two registers; `op="add"` adds the results to `c`.'
)
vmin4 = Video("vmin4", 'Minimum of the bytes of two registers; `op="add"` adds the results to `c`.')
vmax4 = Video("vmax4", 'Maximum of the bytes of two registers; `op="add"` adds the results to `c`.')
vset4 = Video("vset4", 'Compare the bytes of two registers, to 1 or 0; `op="add"` adds the results to `c`.')
