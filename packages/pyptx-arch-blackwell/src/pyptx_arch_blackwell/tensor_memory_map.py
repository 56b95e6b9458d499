"""Parts of tensor memory as a text and as a drawing of lanes by columns. Manual: "Tensor Memory Addressing"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyptx_arch_blackwell.datapath import LANES, PARTITION, accumulator
from pyptx_ir.drawing import LETTER, cell, element, label, number, svg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.drawing import Drawing, Markup

__all__ = ["TensorMemoryMap", "TensorMemoryPart", "accumulator_map"]

_COLUMNS: Final = 512
_STEP: Final = 64  # columns between two labels
_COLUMN, _LANE, _ROW, _MARGIN = 1.15, 1.3125, 19.0, 10.0  # pixels
_GUTTER: Final = _MARGIN + 22 * LETTER


@dataclass(frozen=True, slots=True)
class TensorMemoryPart:
    """Consecutive lanes and columns of a CTA's tensor memory; `cta` is the CTA's index in its CTA pair."""

    name: str
    lane: int
    lanes: int
    column: int
    columns: int
    cta: int = 0

    def __str__(self) -> str:
        """Return `d: lanes 0-127, columns 0-255`."""
        lanes, columns = f"{self.lane}-{self.lane + self.lanes - 1}", f"{self.column}-{self.column + self.columns - 1}"
        return f"{self.name}: lanes {lanes}, columns {columns}"


@dataclass(frozen=True, slots=True)
class TensorMemoryMap:
    """Parts of tensor memory; notebooks draw them. Columns count from the start of the allocation."""

    title: str
    parts: tuple[TensorMemoryPart, ...]

    @property
    def ctas(self) -> range:
        """CTAs that have parts, or all before them in the CTA pair."""
        return range(max((part.cta for part in self.parts), default=0) + 1)

    def __str__(self) -> str:
        """Return a line per part."""
        heads = [f"CTA {part.cta}, " if len(self.ctas) > 1 else "" for part in self.parts]
        return "\n".join([self.title, *(f"  {head}{part}" for head, part in zip(heads, self.parts, strict=True))])

    def to_svg(self) -> Drawing:
        """Return a drawing of lanes by columns for each CTA, with the lane quarters that warps can access."""
        parts, y = [label(_MARGIN, _ROW, self.title, class_="title")], 1.5 * _ROW
        for cta in self.ctas:
            parts += self._memory(cta, y)
            y += LANES * _LANE + 2 * _ROW
        texts = [line.strip() for line in str(self).splitlines()[1:]]
        for place, (part, text) in enumerate(zip(self.parts, texts, strict=True)):
            parts.append(cell(_MARGIN, y + place * _ROW, 14, _ROW - 4, hue=self._hue(part)))
            parts.append(label(_MARGIN + 22, y + place * _ROW + 11, text))
        width = max(_GUTTER + _COLUMNS * _COLUMN, 22 + max(map(len, texts), default=0) * LETTER)
        return svg(width + 2.5 * _MARGIN, y + len(texts) * _ROW + _MARGIN, *parts)

    def _repr_html_(self) -> str:
        """Return the drawing of `to_svg` for notebooks."""
        from pyptx_ir.drawing import notebook

        return notebook(self.to_svg())

    def _hue(self, part: TensorMemoryPart) -> float:
        return self.parts.index(part) * 137.5 % 360

    def _memory(self, cta: int, top: float) -> Iterator[Markup]:
        """Yield the tensor memory of one CTA below `top`."""
        name = f"CTA {cta}, column" if len(self.ctas) > 1 else "column"
        yield label(_GUTTER - 16, top + 11, name, anchor="end", class_="faint")
        y = top + _ROW
        yield cell(_GUTTER, y, _COLUMNS * _COLUMN, LANES * _LANE)
        for column in range(0, _COLUMNS + 1, _STEP):
            yield label(_GUTTER + column * _COLUMN, top + 11, str(column), anchor="middle", class_="faint")
        for part in (each for each in self.parts if each.cta == cta):
            yield from self._part(part, y)
        for quarter in range(LANES // PARTITION):
            first, at = quarter * PARTITION, y + quarter * PARTITION * _LANE
            text = f"lanes {first}-{first + PARTITION - 1}, warp {quarter}"
            yield label(_GUTTER - 8, at + PARTITION * _LANE / 2 + 4, text, anchor="end", class_="faint")
            ends = {"x1": number(_GUTTER), "x2": number(_GUTTER + _COLUMNS * _COLUMN), "y1": number(at)}
            yield element("line", y2=number(at), stroke="var(--ink)", stroke_opacity=0.35, **ends)

    def _part(self, part: TensorMemoryPart, top: float) -> Iterator[Markup]:
        width, height = part.columns * _COLUMN, part.lanes * _LANE
        x, y = _GUTTER + part.column * _COLUMN, top + part.lane * _LANE
        yield cell(x, y, width, height, hue=self._hue(part), tip=str(part))
        if len(part.name) * LETTER < width - 8 and height > 14:
            yield label(x + 5, y + 14, part.name)


def accumulator_map(m: int, n: int, *, cta_group: int = 1, sparse: bool = False, ws: bool = False) -> TensorMemoryMap:
    """Return the locations of an `m` by `n` accumulator D in tensor memory, from the column of its address on.

    A part is named by its rows and columns as a slice, `D[0:64, 128:256]`.

    `cta_group` is the number of CTAs (2: a CTA pair), `sparse`: operand A is sparse, `ws`: a weight-stationary MMA.
    Raise ValueError for an M that the MMA does not support. Manual: "Data Path Layout Organization".
    """
    parts = tuple(
        TensorMemoryPart(
            f"D[{part.row}:{part.row + part.rows}, {part.n}:{part.n + part.columns}]",
            part.lane, part.rows, part.column, part.columns, part.block,
        )
        for part in accumulator(m, n, blocks=cta_group, sparse=sparse, stationary=ws)
    )  # fmt: skip
    options = "".join(text for given, text in ((sparse, ", sparse"), (ws, ", weight-stationary")) if given)
    return TensorMemoryMap(f"accumulator D of {m} x {n}, cta_group::{cta_group}{options}", parts)
