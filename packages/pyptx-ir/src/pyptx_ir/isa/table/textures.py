"""Manual: "Texture Instructions", "Surface Instructions"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COORDINATES = ("s32", "f32")
CLAMPS = ("trap", "clamp", "zero")


@dataclass(frozen=True, slots=True)
class Geometries:
    """Texture geometries (`2d`, `cube`) with the same options: offsets, depth comparison, levels of detail."""

    geometries: tuple[str, ...]
    coordinates: tuple[str, ...]
    since: tuple[int, int]
    offsets: bool
    depths: bool
    levels: bool
    gradients_since: tuple[int, int] = ptx(3, 1)


FAMILIES = (
    # Texture arrays exist since PTX 2.3; no current target accepts versions before 4.0.
    Geometries(("1d", "2d", "a1d", "a2d"), COORDINATES, ptx(1, 0), offsets=True, depths=True, levels=True),
    Geometries(("3d",), COORDINATES, ptx(1, 0), offsets=True, depths=False, levels=True),
    Geometries(
        ("cube", "acube"),
        ("f32",),
        ptx(3, 0),
        offsets=False,
        depths=True,
        levels=True,
        gradients_since=ptx(4, 3),
    ),
    Geometries(("2dms", "a2dms"), ("s32",), ptx(3, 2), offsets=True, depths=False, levels=False),
)

# Results of texture fetches: vector length, element types, PTX version, targets.
RESULTS: tuple[tuple[str, tuple[str, ...], tuple[int, int], tuple[str, ...]], ...] = (
    ("v4", ("u32", "s32", "f32"), ptx(1, 0), ()),
    ("v4", ("f16",), ptx(4, 2), ("sm_53",)),
    ("v2", ("f16x2",), ptx(4, 2), ("sm_53",)),
)
# Result operands of texture fetches: the optional predicate `p` says whether the texture's memory was resident.
RESIDENT = (("d", ptx(1, 0), ()), ("d|p", ptx(7, 1), ("sm_60",)))

OPERANDS = {
    "a": "texture(geom ctype)",
    "lod": "ctype",
    "dpdx": "gradient(geom)",
    "dpdy": "gradient(geom)",
    "e": "texture_offsets(geom)",
    "f": "f32",
}


def _tails(family: Geometries) -> Iterator[tuple[str, tuple[int, int], bool]]:
    """Yield operands after the coordinates, their first PTX version, and whether one of them is a reference depth."""
    yield "", ptx(1, 0), False
    if family.offsets:
        yield ", e", ptx(4, 3), False
    if family.depths:
        yield ", f", ptx(4, 3), True
    if family.offsets and family.depths:
        yield ", e, f", ptx(4, 3), True


def _modes(family: Geometries) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield the modifiers that choose a level of detail, their operands, and their PTX version."""
    yield "", "", ptx(1, 0)
    yield ".base", "", ptx(3, 1)
    if family.levels:
        yield ".level", ", lod", ptx(3, 1)
        yield ".grad", ", dpdx, dpdy", family.gradients_since


def _fetches(family: Geometries) -> Iterator[InstructionRow]:
    """Yield the forms of tex for the texture geometries of `family`; a depth comparison requires .f32 coordinates."""
    for mode, more, mode_since in _modes(family):
        for tail, tail_since, depth in _tails(family):
            for vector, types, type_since, type_targets in RESULTS:
                for result, result_since, result_targets in RESIDENT:
                    coordinates = ("f32",) if depth else family.coordinates
                    yield row(
                        f"tex{mode}.geom.{vector}.dtype.ctype {result}, [a]{more}{tail}",
                        geom=family.geometries,
                        dtype=types,
                        ctype=coordinates,
                        operands={**OPERANDS, "d": f"{vector[1:]}*dtype"},
                        since=max(family.since, mode_since, tail_since, type_since, result_since),
                        targets=result_targets or type_targets,
                        leading=1 if mode else 0,
                        manual="tex",
                    )


GATHERED: tuple[tuple[tuple[str, ...], tuple[int, int], bool], ...] = (
    (("2d",), ptx(2, 2), True),
    (("a2d",), ptx(4, 3), True),
    (("cube", "acube"), ptx(4, 3), False),
)


def _gathers() -> Iterator[InstructionRow]:
    """Yield the forms of tld4: one component of the four texels that bilinear filtering would read."""
    for geometries, since, offsets in GATHERED:
        tails: tuple[str, ...] = ("", ", e", ", f", ", e, f") if offsets else ("", ", f")
        for tail in tails:
            for result, result_since, targets in RESIDENT:
                yield row(
                    f"tld4.comp.geom.v4.dtype.f32 {result}, [a]{tail}",
                    comp=("r", "g", "b", "a"),
                    geom=geometries,
                    dtype=("u32", "s32", "f32"),
                    operands={**OPERANDS, "d": "4*dtype", "a": "texture(geom f32)"},
                    since=max(since, ptx(4, 3) if tail else since, result_since),
                    targets=targets,
                    manual="tld4",
                )


# Attributes of textures, samplers and surfaces that txq and suq query, with the PTX version of each.
TEXTURE_QUERIES = (
    (("width", "height", "depth", "normalized_coords"), ptx(1, 5)),
    (("channel_data_type", "channel_order"), ptx(2, 1)),
    (("array_size", "num_mipmap_levels", "num_samples"), ptx(4, 1)),
)
SAMPLER_QUERIES = ("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2")
SURFACE_QUERIES = (
    (("width", "height", "depth"), ptx(1, 5)),
    (("channel_data_type", "channel_order"), ptx(2, 1)),
    (("array_size",), ptx(4, 1)),
    (("memory_layout",), ptx(4, 2)),
)


def _queries() -> Iterator[InstructionRow]:
    """Yield the forms of txq and suq. In unified mode, a texture has the attributes of a sampler."""
    for queries, since in TEXTURE_QUERIES:
        yield row("txq.query.b32 d, [a]", query=queries, operands={"a": "opaque(texref)"}, since=since, manual="txq")
    sampler = {"a": "opaque(texref samplerref)"}
    yield row("txq.query.b32 d, [a]", query=SAMPLER_QUERIES, operands=sampler, since=ptx(1, 5), manual="txq")
    unnormalized = {"a": "opaque(samplerref)"}
    yield row("txq.force_unnormalized_coords.b32 d, [a]", operands=unnormalized, since=ptx(2, 2), manual="txq")
    yield row(
        "txq.level.query.b32 d, [a], lod",
        query=("width", "height", "depth"),
        operands={"a": "opaque(texref)", "lod": "int32"},
        since=ptx(4, 3),
        leading=1,
        manual="txq",
    )
    for attributes, since in SURFACE_QUERIES:
        yield row(
            "suq.query.b32 d, [a]", query=attributes, operands={"a": "opaque(surfref)"}, since=since, manual="suq"
        )


# Geometries of surfaces, with their PTX versions.
SURFACES = ((("1d", "2d"), ptx(1, 5)), (("3d", "a1d", "a2d"), ptx(3, 0)))
# Element types and vector lengths of surface accesses, up to 128 bits per access.
ELEMENTS: tuple[tuple[str, tuple[str, ...], Mapping[str, tuple[str, ...]]], ...] = (
    ("", ("b8", "b16", "b32", "b64"), {}),
    (".vec", ("b8", "b16", "b32"), {"vec": ("v2", "v4")}),
    (".v2", ("b64",), {}),
)


def _loads_and_stores() -> Iterator[InstructionRow]:
    """Yield the forms of suld.b, sust.b and sust.p. Registers may be wider than the elements."""
    data = "texels(relaxed(type))"
    for geometries, first in SURFACES:
        for vector, types, more in ELEMENTS:
            for cache, since in (("", first), (".cache", max(first, ptx(2, 0)))):
                for name, line, caches in (
                    ("suld", "d, [a]", ("ca", "cg", "cs", "cv")),
                    ("sust", "[a], c", ("wb", "cg", "cs", "wt")),
                ):
                    yield row(
                        f"{name}.b.geom{cache}{vector}.type.clamp {line}",
                        geom=geometries,
                        type=types,
                        clamp=CLAMPS,
                        operands={"a": "surface(geom)", "d": data, "c": data},
                        access="wr",
                        since=since,
                        leading=1,
                        manual=name,
                        slots={**more, **({"cache": caches} if cache else {})},
                    )
    for solid, first in SURFACES:
        yield row(
            "sust.p.geom{.vec}.b32.clamp [a], c",
            geom=[name for name in solid if name[0] != "a"],
            vec=("v2", "v4"),
            clamp=CLAMPS,
            operands={"a": "surface(geom)", "c": "texels(relaxed(b32))"},
            access="wr",
            since=max(first, ptx(2, 0)),
            leading=1,
            manual="sust",
        )


# Rows of sured: addressing by bytes or by samples, operations, types, PTX version.
REDUCTIONS = (
    ("b", ("add",), ("u32", "u64", "s32"), ptx(2, 0)),
    ("b", ("min", "max"), ("u32", "s32"), ptx(2, 0)),
    ("b", ("min", "max"), ("u64", "s64"), ptx(8, 1)),
    ("b", ("and", "or"), ("b32",), ptx(2, 0)),
    ("p", ("add", "min", "max", "and", "or"), ("b32",), ptx(2, 0)),
    ("p", ("min", "max"), ("b64",), ptx(8, 1)),
)

SUMMARIES = {
    "Textures and surfaces": {
        "tex": "Sample a texture, at the base level, at a given mipmap level or with given gradients.",
        "tld4": "Fetch one component of the four texels that bilinear filtering would read.",
        "txq": "Query a property of a texture or a sampler.",
        "istypep": "Test whether an opaque handle refers to a texture, a sampler or a surface.",
        "suld": "Load from a surface; a modifier selects the result for coordinates outside the surface.",
        "sust": "Store to a surface: bytes (.b), or elements converted to the surface's format (.p).",
        "sured": "Combine a value with a surface element atomically; x counts bytes (.b) or elements (.p).",
        "suq": "Query a property of a surface.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *(form for family in FAMILIES for form in _fetches(family)),
    *_gathers(),
    *_queries(),
    row(
        "istypep.type p, a",
        type=("texref", "samplerref", "surfref"),
        operands={"a": "u64"},
        since=ptx(4, 0),
        manual="istypep",
    ),
    *_loads_and_stores(),
    *(
        row(
            f"sured.{addressing}.op.geom.type.clamp [a], c",
            op=operations,
            geom=("1d", "2d", "3d"),
            type=types,
            clamp=CLAMPS,
            operands={"a": "surface(geom)", "c": "relaxed(type)"},
            access="xr",
            since=since,
            leading=1,
            manual="sured",
        )
        for addressing, operations, types, since in REDUCTIONS
    ),
)
