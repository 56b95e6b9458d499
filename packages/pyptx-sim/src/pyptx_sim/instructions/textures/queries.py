"""Queries of attributes of textures, samplers and surfaces. Manual: "txq", "suq", "istypep".

Channel formats and channel orders are numbered as in OpenCL, address modes as in the manual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_sim.instructions.textures.threads import TextureThreads, handle, parts_of
from pyptx_sim.machine.memory.texels import Texels
from pyptx_sim.numerics.sampling import Sampler

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyptx_sim.instructions.compiling.operands import Operands
    from pyptx_sim.machine.lanes import Lanes
    from pyptx_sim.machine.scheduling.code import Action
    from pyptx_sim.machine.wave import Wave

_EXTENTS: Final = ("width", "height", "depth")
# Numbers that `txq` returns for address modes. Manual: "Texture Sampler and Surface Types", table of values.
_ADDRESS_MODES: Final = {"wrap": 0, "mirror": 1, "clamp": 3, "border": 4}
# OpenCL's numbers of channel types (CL_SNORM_INT8 and so on) and channel orders (CL_R, CL_RG, CL_RGBA).
_FORMATS: Final[Mapping[str, int]] = {
    "i1n": 0x10D0,
    "i2n": 0x10D1,
    "u1n": 0x10D2,
    "u2n": 0x10D3,
    "i1": 0x10D7,
    "i2": 0x10D8,
    "i4": 0x10D9,
    "u1": 0x10DA,
    "u2": 0x10DB,
    "u4": 0x10DC,
    "f2": 0x10DD,
    "f4": 0x10DE,
}
_ORDERS: Final = {1: 0x10B0, 2: 0x10B2, 4: 0x10B5}


def compile_query(operands: Operands) -> Action:
    """Compile `txq` or `suq`: query an attribute of a texture, sampler or surface."""
    query = operands.word("query") or "force_unnormalized_coords"
    read, write = handle(operands, parts_of(operands, "a")[0]), operands.write(operands.named("d"), "b32")
    lod = operands.given("lod")
    level_of = None if lod is None else operands.read(lod, "b32")

    def ask(wave: Wave, lanes: Lanes) -> None:
        threads = TextureThreads(wave, lanes)
        result = np.zeros(len(threads), np.uint32)
        wanted = np.zeros(len(threads), np.int64) if level_of is None else threads.read(level_of).astype(np.int64)
        for which, _, found in threads.by_handle(read, (Texels, Sampler), "texture, sampler or surface"):
            for level in np.unique(wanted[which]).tolist():
                result[which & (wanted == level)] = _answer(found, query, level)
        write(wave, lanes, threads.spread(result))

    return ask


def _answer(found: object, query: str, level: int) -> int:
    own = found.sampler if isinstance(found, Texels) else found
    sampler = own if isinstance(own, Sampler) else Sampler()
    of_sampler = {
        "filter_mode": int(sampler.filter == "linear"),
        "normalized_coords": int(sampler.normalized),
        "force_unnormalized_coords": int(not sampler.normalized),
        **{f"addr_mode_{axis}": _ADDRESS_MODES[sampler.mode(axis)] for axis in range(len(_EXTENTS))},
    }
    if query in of_sampler or not isinstance(found, Texels):
        return of_sampler.get(query, 0)
    if query in _EXTENTS:
        extents = found.levels[min(level, len(found.levels) - 1)].extents
        axis = _EXTENTS.index(query)
        return extents[axis] if axis < len(extents) else 0
    return {
        "channel_data_type": _FORMATS[found.dtype.str[1:] + "n" * found.normalized_float],
        "channel_order": _ORDERS[found.channels],
        "array_size": found.slices // found.shape.faces if found.shape.layered else 0,
        "num_mipmap_levels": len(found.levels),
        "num_samples": 1,
    }.get(query, 0)


def compile_test(operands: Operands) -> Action:
    """Compile `istypep`: test whether a handle refers to a texture, a sampler or a surface, as the opcode specifies."""
    kind = operands.word("type")
    read, write = handle(operands, operands.named("a")), operands.write(operands.named("p"), "pred")

    def test(wave: Wave, lanes: Lanes) -> None:
        threads = TextureThreads(wave, lanes)
        found = [_kind(wave.machine.handles.get(each)) == kind for each in threads.read(read).tolist()]
        write(wave, lanes, threads.spread(np.array(found, np.bool_)))

    return test


def _kind(found: object) -> str:
    if isinstance(found, Texels):
        return "surfref" if found.writeable else "texref"
    return "samplerref" if isinstance(found, Sampler) else ""
