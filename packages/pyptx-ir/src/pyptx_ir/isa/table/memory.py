"""Manual: "Data Movement and Conversion Instructions: ld, ld.global.nc, ldu, st"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import SCOPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NARROW = ("b8", "b16", "b32", "u8", "u16", "u32", "s8", "s16", "s32", "f32")
OF_64 = ("b64", "u64", "s64", "f64")
SHARED = ("shared", "shared::cta", "shared::cluster")
SPACES = ("const", "global", "local", "param", "param::entry", "param::func", *SHARED)
STORE_SPACES = ("global", "local", "param", "param::func", *SHARED)
ORDERED_SPACES = ("global", *SHARED)
LEVEL1 = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
LEVEL2 = ("L2::evict_normal", "L2::evict_first", "L2::evict_last")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")


@dataclass(frozen=True, slots=True)
class Width:
    """Number and types of the elements of one access, and its first PTX version; `vec` is the vector modifier."""

    vec: str
    types: tuple[str, ...]
    since: tuple[int, int] = (1, 0)
    targets: tuple[str, ...] = ()


SCALAR = Width("", (*NARROW, *OF_64))
QUAD = Width("", ("b128",), ptx(8, 3), ("sm_70",))
QUAD_TO_SYSTEM = Width("", ("b128",), ptx(8, 4), ("sm_70",))
VECTORS = (Width("v2", (*NARROW, *OF_64)), Width("v4", NARROW), Width("v8", ("b8", "b16", "u8", "u16", "s8", "s16")))
WIDTHS = (SCALAR, QUAD, *VECTORS)
# Vector types of ld and st with 256 bits, for global and generic addresses.
WIDE = (
    Width("v8", ("b32", "u32", "s32", "f32"), ptx(8, 8), ("sm_100",)),
    Width("v4", OF_64, ptx(8, 8), ("sm_100",)),
)


def _forms(
    name: str,
    modifiers: str,
    widths: Sequence[Width] = WIDTHS,
    *,
    since: tuple[int, int] = (1, 0),
    targets: tuple[str, ...] = (),
    slots: Mapping[str, Sequence[str]] | None = None,
    **more: Sequence[str],
) -> tuple[InstructionRow, ...]:
    """Return an instruction row per access width of a load or store with these modifiers, such as `{.hint}`."""
    hint = "{.hint}" in modifiers
    operands = ("[a], b" if name == "st" else "d, [a]") + ("{, policy}" if hint else "")
    value = "b" if name == "st" else "d"
    kinds = {
        "a": "memory(sized indexed) or unified" if name == "ld" else "memory(sized indexed)",
        value: "sparse(relaxed(type))" if name == "st" and widths is WIDE else "vec(relaxed(type))",
    } | ({"policy": "u64 with L2::cache_hint"} if hint else {})
    return tuple(
        row(
            f"{name}{modifiers}{'.vec' if width.vec else ''}.type {operands}",
            operands=kinds if width.types != ("b128",) else {**kinds, value: "type"},
            access="wrr" if hint else "wr",
            since=max(since, width.since),
            targets=width.targets or targets,
            manual=name,
            instruction="ld.global.nc" if ".nc" in modifiers else name,
            slots={
                **(slots or {}),
                **more,
                **({"hint": ("L2::cache_hint",)} if hint else {}),
                **({"vec": (width.vec,)} if width.vec else {}),
                "type": width.types,
            },
        )
        for width in widths
    )


def _plain(name: str, spaces: Sequence[str], cache: Sequence[str], prefetch: str) -> tuple[InstructionRow, ...]:
    """Return the weak forms of a load or store: with a cache operator, with hints for L1, and with hints for L2."""
    ahead = {"prefetch": PREFETCH} if prefetch else {}
    first, second = {**ahead, "level1": LEVEL1}, {**ahead, "level1": LEVEL1, "level2": LEVEL2}
    cached = {**ahead, "cop": cache}
    tail = f"{{.hint}}{prefetch}"
    return (
        *_forms(name, "{.weak}{.ss}{.cop}", ss=spaces, cop=cache),
        *_forms(name, f"{{.weak}}{{.global}}{{.cop}}{tail}", since=ptx(7, 4), targets=("sm_70",), slots=cached),
        *_forms(name, f"{{.weak}}{{.global}}{{.level1}}{tail}", since=ptx(7, 4), targets=("sm_70",), slots=first),
        *_forms(name, f"{{.weak}}{{.global}}{{.cop}}{tail}", WIDE, slots=cached),
        *_forms(name, f"{{.weak}}{{.global}}{{.level1}}{{.level2}}{tail}", WIDE, slots=second),
    )


def _ordered(name: str, order: str, prefetch: str) -> tuple[InstructionRow, ...]:
    """Return the load or store forms with relaxed, acquire or release; 128-bit .sys forms need a later PTX."""
    ahead = {"sem": ("relaxed", order), **({"prefetch": PREFETCH} if prefetch else {})}
    head, tail = ".sem.scope{.global}{.level1}", f"{{.hint}}{prefetch}"
    found: list[InstructionRow] = []
    for widths, scopes in (((SCALAR, *VECTORS), SCOPES), ((QUAD,), SCOPES[:-1]), ((QUAD_TO_SYSTEM,), SCOPES[-1:])):
        first = {**ahead, "scope": scopes, "level1": LEVEL1}
        plain = {"sem": ("relaxed", order), "scope": scopes, "ss": ORDERED_SPACES}
        found += _forms(name, ".sem.scope{.ss}", widths, since=ptx(6, 0), targets=("sm_70",), slots=plain)
        found += _forms(name, f"{head}{tail}", widths, since=ptx(7, 4), targets=("sm_70",), slots=first)
    second = {**ahead, "scope": SCOPES, "level1": LEVEL1, "level2": LEVEL2}
    return (*found, *_forms(name, f"{head}{{.level2}}{tail}", WIDE, slots=second))


def _unusual(name: str, prefetch: str, order: str) -> tuple[InstructionRow, ...]:
    """Return the volatile forms of a load or store, and the forms for memory-mapped I/O."""
    ahead = {"prefetch": PREFETCH} if prefetch else {}
    relaxed, ordered = ({"sem": (sem,), "scope": SCOPES[-1:]} for sem in ("relaxed", order))
    return (
        *_forms(name, ".volatile{.ss}", ss=ORDERED_SPACES),
        *_forms(name, ".volatile.local", since=ptx(9, 1)),
        *_forms(name, f".volatile{{.global}}{prefetch}", WIDE, slots=ahead),
        *_forms(name, ".mmio.sem.scope{.global}", (SCALAR,), since=ptx(8, 2), targets=("sm_70",), slots=relaxed),
        *_forms(name, ".mmio.sem.scope{.global}", (QUAD_TO_SYSTEM,), slots=relaxed),
        *_forms(name, ".mmio.sem.scope{.global}", (SCALAR, QUAD), since=ptx(9, 3), targets=("sm_75",), slots=ordered),
    )


SUMMARIES = {
    "Data movement": {
        "ld": "Load from memory.",
        "ld.global.nc": "Load global memory that is read-only during the kernel, through the non-coherent cache.",
        "ldu": "Load data from an address that is the same for all threads of a warp.",
        "st": "Store to memory.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_plain("ld", SPACES, ("ca", "cg", "cs", "lu", "cv"), "{.prefetch}"),
    *_unusual("ld", "{.prefetch}", "acquire"),
    *_forms("ld", ".volatile{.global}.prefetch", prefetch=PREFETCH, since=ptx(7, 4), targets=("sm_70",)),
    *_ordered("ld", "acquire", "{.prefetch}"),
    *_forms("ld", ".proxy::readonly{.global}", (SCALAR, *VECTORS), since=ptx(9, 4), targets=("sm_90",)),
    *_forms("ld", ".proxy::readonly{.global}", WIDE, since=ptx(9, 4)),
    *_forms("ld", ".global{.cop}.nc", cop=("ca", "cg", "cs"), since=ptx(3, 1)),
    *_forms(
        "ld",
        ".global{.cop}.nc{.hint}{.prefetch}",
        cop=("ca", "cg", "cs"),
        prefetch=PREFETCH,
        since=ptx(7, 4),
        targets=("sm_70",),
    ),
    *_forms("ld", ".global{.cop}.nc{.hint}{.prefetch}", WIDE, cop=("ca", "cg", "cs"), prefetch=PREFETCH),
    *_forms(
        "ld",
        ".global.nc{.level1}{.hint}{.prefetch}",
        level1=LEVEL1,
        prefetch=PREFETCH,
        since=ptx(7, 4),
        targets=("sm_70",),
    ),
    *_forms(
        "ld", ".global.nc{.level1}{.level2}{.hint}{.prefetch}", WIDE, level1=LEVEL1, level2=LEVEL2, prefetch=PREFETCH
    ),
    *_forms("ldu", "{.global}", (SCALAR, QUAD, *VECTORS[:2]), since=ptx(2, 0)),
    *_plain("st", STORE_SPACES, ("wb", "cg", "cs", "wt"), ""),
    *_unusual("st", "", "release"),
    *_ordered("st", "release", ""),
)
