"""Textures and surfaces: loads, stores, reductions, and queries of their attributes.

Operands are in the manual's order, the destination first: `ptx.tex((f32, s32), [r, g, b, a], ptx.tensor_addr("t", [x]),
geom="1d")` emits `tex.1d.v4.f32.s32 {r, g, b, a}, [t, {x}];`. Manual: "Texture Instructions", "Surface Instructions".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms, choice
from pyptx_dsl.instructions.forms.wrapper import Wrapper
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from pyptx_dsl.instructions.forms.instruction_forms import Types
    from pyptx_dsl.registers.register import Reg

__all__ = ["istypep", "suld", "suq", "sured", "sust", "tex", "tld4", "txq"]


class TextureModifiers(TypedDict, total=False):
    """Keywords of texture and surface functions, for type checkers; the instruction table has the combinations."""

    geom: Literal["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"] | None
    vec: Literal["v2", "v4"] | None
    base: bool
    level: bool
    grad: bool
    comp: Literal["r", "g", "b", "a"] | None
    op: Literal["add", "min", "max", "and", "or"] | None
    cache: Literal["ca", "cg", "cs", "cv", "wb", "wt"] | None
    clamp: Literal["trap", "clamp", "zero"] | None
    b: bool
    p: bool
    query: str | None
    force_unnormalized_coords: bool


class Texture(Wrapper):
    """An instruction on a texture or surface: `ptx.name(types, *operands, **modifiers)`, in the manual's order."""

    def __call__(
        self, dtype: Types, *operands: object, pred: Reg | None = None, **modifiers: Unpack[TextureModifiers]
    ) -> object:
        """Emit the instruction and return its first operand."""
        self._emit(dtype, operands, modifiers, pred)
        return operands[0] if operands else None


tex = Texture("tex")
tld4 = Texture("tld4")
txq = Texture("txq")
suld = Texture("suld")
sust = Texture("sust")
sured = Texture("sured")
suq = Texture("suq")

_IS_TYPE = InstructionForms("ptx.istypep", "istypep")


@emits(kind="type")
def istypep(
    kind: Literal["texref", "samplerref", "surfref"],
    pred_out: Reg,
    address: object,
    *,
    pred: Reg | None = None,
) -> Reg:
    """Emit `istypep.kind p, a;` and return `p`: whether a 64-bit register refers to a texture, sampler or surface.

    Manual: "Texture Instructions: istypep".
    """
    choice("kind", kind, _IS_TYPE.choices("type"))
    active("ptx.istypep").emit(_IS_TYPE.words(type=kind), (pred_out, address), pred)
    return pred_out
