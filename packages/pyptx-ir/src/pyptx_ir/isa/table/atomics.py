"""Manual: "Parallel Synchronization and Communication Instructions": atom, red."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyptx_ir.isa.rows import InstructionRow, ptx, row, summarised
from pyptx_ir.isa.table.type_sets import SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Slots: TypeAlias = "dict[str, tuple[str, ...]]"
Operation: TypeAlias = "tuple[tuple[str, ...], str, tuple[str, ...], tuple[int, int], tuple[str, ...]]"

SPACES = ("global", "shared", "shared::cta", "shared::cluster")
ORDERS = {"atom": ("relaxed", "acquire", "release", "acq_rel"), "red": ("relaxed", "release")}
HINT: Slots = {"hint": ("L2::cache_hint",)}
OPERANDS = {
    "a": "address(global shared sized)",
    "b": "type",
    "c": "type",
    "d": "type or _",
    "policy": "u64 with L2::cache_hint",
}
# An atom or red with a cache policy needs a global or generic address; one on a vector needs global memory.
GLOBAL = {**OPERANDS, "a": "address(global sized)"}

PLACES = (("{.space}", {"space": SPACES}, "", "", OPERANDS), ("{.global}", HINT, ".hint", ", policy", GLOBAL))

# Rows of atom and red: operations, modifier between operation and type, types, PTX version, targets.
OPERATIONS = (
    (("and", "or", "xor"), "", ("b32",), ptx(1, 1), ()),
    (("and", "or", "xor"), "", ("b64",), ptx(3, 1), ()),
    (("add",), "", ("u32", "s32"), ptx(1, 1), ()),
    (("add",), "", ("u64",), ptx(1, 2), ()),
    (("add",), "", ("f32",), ptx(2, 0), ()),
    (("add",), "", ("f64",), ptx(5, 0), ("sm_60",)),
    (("inc", "dec"), "", ("u32",), ptx(1, 1), ()),
    (("min", "max"), "", ("u32", "s32"), ptx(1, 1), ()),
    (("min", "max"), "", ("u64", "s64"), ptx(3, 1), ()),
    (("add",), ".noftz", ("f16x2",), ptx(6, 2), ("sm_60",)),
    (("add",), ".noftz", ("f16",), ptx(6, 3), ("sm_70",)),
    (("add",), ".noftz", ("bf16", "bf16x2"), ptx(7, 8), ("sm_90",)),
    (("add",), ".noftz", ("f32",), ptx(9, 4), ("sm_90",)),
)
EXCHANGES = (
    (("exch",), "", ("b32",), ptx(1, 1), ()),
    (("exch",), "", ("b64",), ptx(1, 2), ()),
    (("exch",), "", ("b128",), ptx(8, 3), ("sm_90",)),
)
SWAPS = (
    (("b32",), ptx(1, 1), ()),
    (("b64",), ptx(1, 2), ()),
    (("b16",), ptx(6, 3), ("sm_70",)),
    (("b128",), ptx(8, 3), ("sm_90",)),
)
# Rows of atom and red on vectors: operations, modifier between operation and vector length, lengths, types, PTX
# version.
VECTORS = (
    (("add",), "", ("v2", "v4"), ("f32",), ptx(8, 1)),
    (("add",), ".noftz", ("v2", "v4"), ("f32",), ptx(9, 4)),
    (("add", "min", "max"), ".noftz", ("v2", "v4", "v8"), ("f16", "bf16"), ptx(8, 1)),
    (("add", "min", "max"), ".noftz", ("v2", "v4"), ("f16x2", "bf16x2"), ptx(8, 1)),
)


def _scopes(types: tuple[str, ...], since: tuple[int, int]) -> tuple[tuple[str, Slots, tuple[int, int]], ...]:
    """Return the scopes of atom or red, with their PTX versions: .sys supports 128 bits since a later version."""
    if "b128" not in types:
        return (("{.scope}", {"scope": SCOPES}, since),)
    return ("{.scope}", {"scope": SCOPES[:-1]}, since), (".scope", {"scope": SCOPES[-1:]}, ptx(8, 4))


def _atomic(name: str, operations: Iterable[Operation]) -> Iterator[InstructionRow]:
    """Yield the forms of atom or red on one value, in any space, and with a cache policy."""
    result, access = ("d, ", "wxr") if name == "atom" else ("", "xr")
    for names, behind, types, since, targets in operations:
        for scope, scopes, scoped_since in _scopes(types, since):
            for space, spaces, hint, policy, kinds in PLACES:
                yield row(
                    f"{name}{{.sem}}{scope}{space}.op{behind}{hint}.type {result}[a], b{policy}",
                    operands=kinds,
                    access=access + ("r" if policy else ""),
                    since=scoped_since,
                    targets=targets,
                    manual=name,
                    sem=ORDERS[name],
                    type=types,
                    slots={**scopes, **spaces, "op": names},
                )


def _swap() -> Iterator[InstructionRow]:
    """Yield the forms of atom.cas."""
    for types, since, targets in SWAPS:
        for scope, scopes, scoped_since in _scopes(types, since):
            yield row(
                f"atom{{.sem}}{scope}{{.space}}.op.type d, [a], b, c",
                operands=OPERANDS,
                access="wxrr",
                since=scoped_since,
                targets=targets,
                manual="atom",
                sem=ORDERS["atom"],
                space=SPACES,
                op=("cas",),
                type=types,
                slots=scopes,
            )


def _vector(name: str) -> Iterator[InstructionRow]:
    """Yield the forms of atom or red on vectors."""
    result, access = ("d, ", "wxrr") if name == "atom" else ("", "xrr")
    for names, behind, lengths, types, since in VECTORS:
        yield row(
            f"{name}{{.sem}}{{.scope}}{{.global}}.op{behind}{{.hint}}.vec.type {result}[a], b{{, policy}}",
            operands={**GLOBAL, "d": "vec(type) or _", "b": "vec(type)"},
            access=access,
            since=since,
            targets=("sm_90",),
            manual=name,
            sem=ORDERS[name],
            scope=SCOPES,
            vec=lengths,
            type=types,
            op=names,
            slots=HINT,
        )


SUMMARIES = {
    "Atomics": {
        "atom": "Combine a value with a memory location atomically, and return the location's old value.",
        "red": "Combine a value with a memory location atomically, without a result.",
    },
}

ROWS = summarised(
    SUMMARIES,
    *_atomic("atom", (*OPERATIONS, *EXCHANGES)),
    *_swap(),
    *_vector("atom"),
    *_atomic("red", OPERATIONS),
    *_vector("red"),
)
