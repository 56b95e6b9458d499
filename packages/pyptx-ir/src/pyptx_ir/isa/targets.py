"""Every target that `.target` may name: a lattice, with the PTX version that introduced each and its limits.

Plain targets are ordered by number (a later device runs what an earlier one runs); `sm_XYf` also covers later members
of its family; `sm_XYa` covers only itself. Manual: "PTX Module Directives: .target", table "Architecture Families";
limits: CUDA programming guide, "Compute Capabilities", tables of features and of technical specifications.
"""

from __future__ import annotations

import functools

from pyptx_ir.errors import PyptxError
from pyptx_ir.suggestions import close_names
from pyptx_ir.values import Value, value

KIB = 1024


class TargetError(PyptxError):
    """A target that nobody knows, or that can't do what was asked of it."""


@value
class TargetRow(Value):
    """One target.

    `number` orders plain targets; `kind` is `"plain"`, `"family"` (suffix f) or `"arch"` (suffix a); `family` names the
    group within which `f` targets carry forward. `since` is the PTX version whose `.target` first knows the name,
    `until` the last one (`renamed` is its name from then on). `extends` names targets whose instructions a third
    party's target has too. Sizes are in bytes: `shared_static` for variables declared in the PTX, `shared_optin` for
    what a launch may ask of one block. `cluster` and `cluster_optin` count blocks: portable, and with the non-portable
    attribute set.
    """

    name: str
    number: int
    kind: str = "plain"
    since: tuple[int, int] = (1, 0)
    until: tuple[int, int] | None = None
    renamed: str | None = None
    family: str | None = None
    extends: tuple[str, ...] = ()
    shared_static: int = 48 * KIB
    shared_optin: int = 48 * KIB
    registers: int = 255
    registers_per_block: int = 65536
    threads: int = 1024
    cluster: int = 1
    cluster_optin: int = 1


def _old(number: int, since: tuple[int, int], optin: int, registers_per_block: int = 65536) -> tuple[TargetRow, ...]:
    return (
        TargetRow(
            f"sm_{number}", number, "plain", since, shared_optin=optin * KIB, registers_per_block=registers_per_block
        ),
    )


def _suffixed(
    number: int,
    plain: tuple[int, int],
    *,
    family_since: tuple[int, int] | None,
    family: str | None,
    optin: int,
    clusters: tuple[int, int],
    arch: tuple[int, int] | None = None,
    renamed: int | None = None,
) -> tuple[TargetRow, ...]:
    """Return the plain, the f (if `family_since`) and the a target of one device."""
    kinds = [("", "plain", plain), ("a", "arch", arch or plain)]
    if family_since:
        kinds.insert(1, ("f", "family", family_since))
    return tuple(
        TargetRow(
            f"sm_{number}{suffix}",
            number,
            kind,
            since,
            until=(8, 8) if renamed else None,
            renamed=f"sm_{renamed}{suffix}" if renamed else None,
            family=family,
            shared_optin=optin * KIB,
            cluster=clusters[0],
            cluster_optin=clusters[1],
        )
        for suffix, kind, since in kinds
    )


TARGETS: tuple[TargetRow, ...] = (
    # Devices that CUDA 13's ptxas has retired; PTX for them is still read.
    *_old(50, (4, 0), 48),
    *_old(52, (4, 1), 48),
    *_old(53, (4, 2), 48, 32768),
    *_old(60, (5, 0), 48),
    *_old(61, (5, 0), 48),
    *_old(62, (5, 0), 48, 32768),
    *_old(70, (6, 0), 96),
    *_old(72, (6, 1), 96),
    *_old(75, (6, 3), 64),
    *_old(80, (7, 0), 163),
    *_old(86, (7, 1), 99),
    *_old(87, (7, 4), 163),
    # The manual says 9.0; ptxas 13.0 takes 7.4 too. No table of limits names 8.8: those of its sibling 8.6.
    *_old(88, (9, 0), 99),
    *_old(89, (7, 8), 99),
    *_suffixed(90, (7, 8), arch=(8, 0), family_since=None, family=None, optin=227, clusters=(8, 16)),
    *_suffixed(100, (8, 6), family_since=(8, 8), family="sm_10x", optin=227, clusters=(8, 16)),
    *_suffixed(101, (8, 6), family_since=(8, 8), family="sm_11x", optin=227, clusters=(8, 16), renamed=110),
    *_suffixed(103, (8, 8), family_since=(8, 8), family="sm_10x", optin=227, clusters=(8, 16)),
    # Known to ptxas 13.4 and later. No table of limits names 10.7 yet: those of its family.
    *_suffixed(107, (9, 4), family_since=(9, 4), family="sm_10x", optin=227, clusters=(8, 16)),
    *_suffixed(110, (9, 0), family_since=(9, 0), family="sm_11x", optin=227, clusters=(8, 16)),
    *_suffixed(120, (8, 7), family_since=(8, 8), family="sm_12x", optin=99, clusters=(8, 8)),
    *_suffixed(121, (8, 8), family_since=(8, 8), family="sm_12x", optin=99, clusters=(8, 8)),
)


@functools.cache
def _core() -> dict[str, TargetRow]:
    return {target.name: target for target in TARGETS}


def find_target(name: str) -> TargetRow:
    """Return the target called `name`, NVIDIA's or a plugin's; raise TargetError with the closest names if none is."""
    core = _core().get(name)
    if core is not None:
        return core
    from pyptx_ir.plugins.manager import manager

    return manager().target(name)


def unknown_target(name: str, known: tuple[str, ...]) -> TargetError:
    """Compose the error for a target called `name` that is not among `known`."""
    close = close_names(name, known, most=3)
    if close:
        hint = f"did you mean {' or '.join(close)}?"
    else:
        hint = f"known targets: {', '.join(target for target in known if int(_number(target)) >= 75)}"
    return TargetError(f"unknown target {name!r}", hint=hint)


def _number(name: str) -> str:
    digits = "".join(character for character in name if character.isdigit())
    return digits or "999"


# The versions that kernels were given by default before this table existed, for devices of compute capability 10.x and
# 12.x, and for all others. Newer than `since`, so that what users write for them (256-bit loads, …) is in reach.
_HABITUAL: dict[int, tuple[int, int]] = {10: (8, 8), 12: (8, 7)}
_HABITUAL_OTHERWISE = (8, 5)


def default_version(target: str | TargetRow) -> tuple[int, int]:
    """Return the `.version` to write for `target` when the user asks for none: one that knows the target."""
    row = target if isinstance(target, TargetRow) else find_target(target)
    return max(row.since, _HABITUAL.get(row.number // 10, _HABITUAL_OTHERWISE))


def includes(have: str | TargetRow, need: str | TargetRow) -> bool:
    """Tell whether code that needs the target `need` is legal on the target `have`."""
    having, needed = _today(have), _today(need)
    if having.name == needed.name or needed.name in having.extends:
        return True
    if _is_nvidia(having) and _is_nvidia(needed) and _carries(having, needed):
        return True
    return any(includes(parent, needed) for parent in having.extends)


def _today(target: str | TargetRow) -> TargetRow:
    """Return the target under its present name."""
    row = target if isinstance(target, TargetRow) else find_target(target)
    return find_target(row.renamed) if row.renamed else row


def _is_nvidia(row: TargetRow) -> bool:
    return row.name in _core()


def _carries(have: TargetRow, need: TargetRow) -> bool:
    if need.kind == "plain":
        return have.number >= need.number
    if need.kind == "family":
        return have.kind != "plain" and have.family == need.family and have.number >= need.number
    return False
