"""Fetches from textures. Manual: "tex", "tld4"; CUDA C++ Programming Guide: "Texture Fetching"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pyptx_ir.syntax.operands import Pair
from pyptx_sim.errors import MissingSemantics, SimulationError
from pyptx_sim.instructions.textures.threads import TextureThreads, check_geometry, handle, numbers, parts_of
from pyptx_sim.machine.memory.access import Access
from pyptx_sim.machine.memory.texels import GEOMETRIES, Texels
from pyptx_sim.numerics.sampling import COMPARISONS, Sampler, detail_of, faces, levels, taps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.instructions.compiling.registers import Reader, Writer
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.memory.texels import Level
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave
    from pyptx_sim.numerics.sampling import Indices, Tap
    from pyptx_sim.operation import Array

_CHANNELS = 4
# tld4 returns the four texels counter-clockwise from the lower left: (i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j).
_CORNERS = ((0, 1), (1, 1), (1, 0), (0, 0))


@dataclass(frozen=True, slots=True)
class _Asked:
    """Parameters of texture reads by threads: coordinates, slice, texel offsets, level of detail, depth to compare."""

    coordinates: Sequence[Array]
    slice: Indices
    offsets: Sequence[Array]
    depth: Array | None
    detail: Array | None
    gradients: tuple[Sequence[Array], Sequence[Array]] | None

    def chosen(self, which: NDArray[np.bool_]) -> _Asked:
        """Return the parameters of the threads that `which` selects."""
        gradients = self.gradients
        return _Asked(
            [each[which] for each in self.coordinates],
            self.slice[which],
            [each[which] for each in self.offsets],
            None if self.depth is None else self.depth[which],
            None if self.detail is None else self.detail[which],
            None if gradients is None else ([g[which] for g in gradients[0]], [g[which] for g in gradients[1]]),
        )


# Function that returns four color components per thread, read from one texture with one sampler.
_How: TypeAlias = Callable[[TextureThreads, Texels, Sampler, _Asked], "list[Array]"]


class _Coordinates:
    """Reads an instruction's texture coordinates, whose number depends on the geometry in the opcode (`.2d`)."""

    def __init__(self, operands: Operands) -> None:
        self._geometry = GEOMETRIES.get(operands.word("geom"))
        if self._geometry is None:
            raise MissingSemantics(f"no simulator semantics for {operands.opcode[0]}.{operands.word('geom')}")
        kind = operands.word("ctype") or "f32"
        axes = 3 if self._geometry.faces > 1 else self._geometry.axes
        types = ["u32"] * self._geometry.layered + [kind] * axes
        self._coordinates = numbers(operands, parts_of(operands, "a")[-1], types)
        offsets, lod, depth = (operands.given(name) for name in ("e", "lod", "f"))
        self._depth = None if depth is None else operands.read(depth, "f32")
        self._offsets = [] if offsets is None else numbers(operands, offsets, ["s32"] * axes)
        self._detail = None if lod is None else operands.read(lod, kind)
        self._gradients = [
            numbers(operands, part, ["f32"] * axes) for name in ("dpdx", "dpdy") if (part := operands.given(name))
        ]

    def read(self, threads: TextureThreads, texels: Texels) -> _Asked:
        """Return the parameters of the threads' reads of a texture."""
        values = [threads.read(reader) for reader in self._coordinates]
        shape, slice_ = texels.shape, np.zeros(len(threads), np.int64)
        if shape.layered:
            slice_ = np.minimum(values.pop(0).astype(np.int64), texels.slices // shape.faces - 1)
        if shape.faces > 1:
            face, *values = faces(*(each.astype(np.float64) for each in values))
            slice_ = slice_ * shape.faces + face
        gradients = [[threads.read(reader) for reader in part] for part in self._gradients]
        return _Asked(
            values,
            slice_,
            [threads.read(reader) for reader in self._offsets],
            None if self._depth is None else threads.read(self._depth),
            None if self._detail is None else threads.read(self._detail),
            (gradients[0], gradients[1]) if len(gradients) > 1 else None,
        )


def compile_fetch(operands: Operands) -> Action:
    """Compile `tex`: sample a texture."""
    return _Fetch(operands, _sampled).step


def compile_gather(operands: Operands) -> Action:
    """Compile `tld4`: fetch one component of the four texels that bilinear filtering would read."""
    component = "rgba".index(operands.word("comp"))

    def gathered(threads: TextureThreads, texels: Texels, sampler: Sampler, asked: _Asked) -> list[Array]:
        return _gathered(threads, texels, sampler, asked, component)

    return _Fetch(operands, gathered).step


class _Fetch:
    """One texture fetch instruction; `how` reads four color components per thread from one texture with one sampler."""

    def __init__(self, operands: Operands, how: _How) -> None:
        parts = parts_of(operands, "a")
        self._texture = handle(operands, parts[0])
        self._sampler: Reader | None = handle(operands, parts[1]) if len(parts) > 2 else None
        self._coordinates = _Coordinates(operands)
        self._how = how
        self._type, self._geometry = operands.word("dtype"), operands.word("geom")
        found = operands.named("d")
        result, resident = (found.first, found.second) if isinstance(found, Pair) else (found, None)
        self._resident: Writer | None = None if resident is None else operands.write(resident, "pred")
        self._writers = [operands.write(part, self._type) for part in operands.elements(result)]

    def step(self, wave: Wave, lanes: Lanes) -> None:
        """Fetch the texels of all active lanes, and write the results."""
        threads = TextureThreads(wave, lanes)
        results = [np.zeros(len(threads), np.float64) for _ in range(_CHANNELS)]
        for which, some, texels in threads.by_handle(self._texture, Texels, "texture"):
            for inner, few, sampler in self._sampled_by(some, texels):
                at = np.flatnonzero(which)[inner]
                check_geometry(few, texels, self._geometry)
                _check_type(few, texels, self._type)
                values = self._how(few, texels, sampler, self._coordinates.read(few, texels))
                for result, value in zip(results, values, strict=True):
                    result[at] = value
        for write, value in zip(self._writers, _as_type(results, self._type), strict=True):
            write(wave, lanes, threads.spread(value))
        if self._resident is not None:
            self._resident(wave, lanes, np.ones((1, 1), np.bool_))

    def _sampled_by(
        self, threads: TextureThreads, texels: Texels
    ) -> list[tuple[NDArray[np.bool_], TextureThreads, Sampler]]:
        """Return the threads by sampler; coordinates are normalized if both texture and sampler specify it."""
        own = texels.sampler or Sampler()
        if texels.shape.faces > 1:
            own = replace(own, normalized=True)
        if self._sampler is None:
            return [(np.ones(len(threads), np.bool_), threads, own)]
        return [
            (which, some, replace(given, normalized=given.normalized and own.normalized))
            for which, some, given in threads.by_handle(self._sampler, Sampler, "sampler")
        ]


def _check_type(threads: TextureThreads, texels: Texels, asked: str) -> None:
    """Reject an integer fetch of a float texture or the reverse: the device would return the raw bits."""
    floats = texels.dtype.kind == "f" or texels.normalized_float
    if floats == (asked[0] == "f"):
        return
    raise SimulationError(
        f"fetch of .{asked} from {texels.name}, a texture of {texels.dtype} elements",
        where=threads.wave.machine.where(threads.wave.pc),
        help="fetch integers as .s32 or .u32, or create the texture with normalized_float=True",
    )


def _as_type(results: Sequence[Array], asked: str) -> list[Array]:
    if asked == "f16x2":
        halves = [each.astype(np.float16).view(np.uint16).astype(np.uint32) for each in results]
        return [halves[0] | halves[1] << 16, halves[2] | halves[3] << 16]
    if asked[0] == "f":
        return [each.astype(np.float16 if asked == "f16" else np.float32) for each in results]
    return [each.astype(np.int64).astype(np.uint32 if asked == "u32" else np.int32) for each in results]


# --- reading texels -----------------------------------------------------------------------------


def _sampled(threads: TextureThreads, texels: Texels, sampler: Sampler, asked: _Asked) -> list[Array]:
    """Return filtered texels, from one mipmap level or interpolated between two levels."""
    total = [np.zeros(len(threads), np.float64) for _ in range(_CHANNELS)]
    for numbers_, weights in levels(_detail(threads, texels, asked), len(texels.levels), sampler.mip_filter):
        for number, level in enumerate(texels.levels):
            which = (numbers_ == number) & (weights > 0)
            some = threads.chosen(which) if which.any() else None
            if some is None:
                continue
            values = _filtered(some, texels, level, sampler, asked.chosen(which))
            for result, value in zip(total, values, strict=True):
                result[which] += weights[which] * value
    return total


def _detail(threads: TextureThreads, texels: Texels, asked: _Asked) -> Array:
    if asked.gradients is not None:
        extents = texels.levels[0].extents if texels.sampler and texels.sampler.normalized else (1,) * _CHANNELS
        axes = len(texels.levels[0].extents)
        parts = tuple(tuple(part.astype(np.float64) for part in half[:axes]) for half in asked.gradients)
        return detail_of(parts, extents[:axes])
    return np.zeros(len(threads)) if asked.detail is None else asked.detail.astype(np.float64)


def _filtered(threads: TextureThreads, texels: Texels, level: Level, sampler: Sampler, asked: _Asked) -> list[Array]:
    """Return, per thread, the weighted sum of the texels that the sampler's filter reads in one mipmap level."""
    along = [
        _taps(texels, values, extent, sampler, axis, asked.offsets)
        for axis, (values, extent) in enumerate(zip(asked.coordinates, level.extents, strict=True))
    ]
    total = [np.zeros(len(threads), np.float64) for _ in range(_CHANNELS)]
    for corner in product(*along):
        weight = np.prod([tap.weight for tap in corner], axis=0)
        values = _compared(threads, sampler, asked, _texels(threads, texels, level, sampler, asked, corner, weight > 0))
        for channel, value in enumerate(values):
            total[channel] += np.where(weight > 0, weight * value, 0)
    return total


def _taps(
    texels: Texels, values: Array, extent: int, sampler: Sampler, axis: int, offsets: Sequence[Array]
) -> tuple[Tap, ...]:
    moved = offsets[axis].astype(np.int64) if axis < len(offsets) else 0
    if texels.geometry == "1d" and values.dtype.kind != "f":
        sampler = replace(sampler, address="border", border=(0, 0, 0, 0))  # reads outside linear memory return 0
    return taps(values, extent, sampler, axis, moved)


def _texels(
    threads: TextureThreads,
    texels: Texels,
    level: Level,
    sampler: Sampler,
    asked: _Asked,
    corner: Sequence[Tap],
    needed: NDArray[np.bool_],
) -> list[Array]:
    """Return the four color components of one texel per thread; outside the texture, the sampler's border color."""
    inside = np.all([tap.inside for tap in corner], axis=0)
    components = [np.where(inside, 0.0, colour) for colour in sampler.border]
    reading = threads.chosen(inside & needed)
    if reading is None or not (inside & needed).any():
        return components
    which = inside & needed
    outer = tuple(tap.index for tap in corner[1:])
    offsets = texels.rows(level, asked.slice, outer) + corner[0].index * texels.texel_bytes
    access = Access("read", texels.texel_bytes, noncoherent=True)
    found = reading.load(access, np.broadcast_to(offsets, which.shape)[which], texels.dtype, texels.channels)
    for channel, values in enumerate(found):
        components[channel][which] = _number(texels, values)
    for channel in range(texels.channels, _CHANNELS):
        components[channel][which] = 1.0 if channel == _CHANNELS - 1 else 0.0
    return components


def _compared(threads: TextureThreads, sampler: Sampler, asked: _Asked, components: list[Array]) -> list[Array]:
    """Return 1 if the instruction's depth operand compares true with a texel, else 0; without a depth, the texel."""
    if asked.depth is None:
        return components
    if sampler.compare is None:
        raise SimulationError(
            "depth comparison with a sampler without a comparison function",
            where=threads.wave.machine.where(threads.wave.pc),
            help='create the sampler with compare="<="',
        )
    holds = COMPARISONS[sampler.compare]
    return [holds(asked.depth, each).astype(np.float64) for each in components]


def _number(texels: Texels, values: Array) -> Array:
    if not texels.normalized_float:
        return values.astype(np.float64)
    most = np.iinfo(texels.dtype).max
    return np.maximum(values.astype(np.float64) / most, -1.0)


def _gathered(threads: TextureThreads, texels: Texels, sampler: Sampler, asked: _Asked, component: int) -> list[Array]:
    """Return one component of the four texels around each thread's coordinates."""
    level, linear = texels.levels[0], replace(sampler, filter="linear")
    along = [
        _taps(texels, values, extent, linear, axis, asked.offsets)
        for axis, (values, extent) in enumerate(zip(asked.coordinates, level.extents, strict=True))
    ]
    everyone = np.ones(len(threads), np.bool_)
    corners = [(along[0][x], along[1][y]) for x, y in _CORNERS]
    read = (_texels(threads, texels, level, sampler, asked, at, everyone) for at in corners)
    return [_compared(threads, sampler, asked, values)[component] for values in read]
