"""All values of `.target`, each with the PTX version that introduced it and its limits.

Plain targets are ordered by number (a later device runs what an earlier one runs); `sm_XYf` also covers later members
of its family; `sm_XYa` covers only itself. Manual: "PTX Module Directives: .target", table "Architecture Families";
limits: CUDA programming guide, "Compute Capabilities", tables of features and of technical specifications.
"""

from __future__ import annotations

from typing import Final

from pyptx_ir.errors import PyptxError
from pyptx_ir.values import Value, value

KIB = 1024


class TargetError(PyptxError):
    """An unknown target, or a target that does not support a requested feature."""


@value
class TargetRow(Value):
    """One target.

    `number` orders plain targets; `kind` is `"plain"`, `"family"` (suffix f) or `"arch"` (suffix a). `family` names the
    group within which `f` targets carry forward. `since` is the first PTX version whose `.target` accepts the name,
    `until` the last one (`renamed` is the later name). `extends` names targets whose instructions a third-party target
    also has. Sizes are in bytes: `shared_static` is the maximum of variables declared in the PTX, `shared_optin` the
    maximum that a launch may request per CTA. `cluster` and `cluster_optin` are maximum numbers of CTAs: portable, and
    with the non-portable attribute set.
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
    """Return the plain target, the f target (if `family_since`) and the a target of one device."""
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


def _oldest(
    number: int, since: tuple[int, int], registers: int, registers_per_block: int, shared: int = 48, threads: int = 1024
) -> TargetRow:
    return TargetRow(
        f"sm_{number}",
        number,
        since=since,
        shared_static=shared * KIB,
        shared_optin=shared * KIB,
        registers=registers,
        registers_per_block=registers_per_block,
        threads=threads,
    )


OLDEST_IN_TABLE: Final = 50
"""The oldest target in the instruction table; PTX for older targets can be parsed and simulated."""

TARGETS: Final[tuple[TargetRow, ...]] = (
    # Targets older than the instruction table. The manuals lack the PTX version of sm_21; it is that of sm_20.
    *(_oldest(number, (1, 0), 124, 8192, 16, 512) for number in (10, 11)),
    *(_oldest(number, (1, 2), 124, 16384, 16, 512) for number in (12, 13)),
    *(_oldest(number, (2, 0), 63, 32768) for number in (20, 21)),
    _oldest(30, (3, 0), 63, 65536),
    _oldest(32, (4, 0), 255, 32768),
    _oldest(35, (3, 1), 255, 65536),
    _oldest(37, (4, 1), 255, 65536),
    # Devices that ptxas of CUDA 13 no longer supports; PTX for them is still accepted.
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
    # sm_88: since PTX 9.0 by the manual, but ptxas 13.0 also accepts 7.4. No table has its limits; those of sm_86 are
    # used.
    *_old(88, (9, 0), 99),
    *_old(89, (7, 8), 99),
    *_suffixed(90, (7, 8), arch=(8, 0), family_since=None, family=None, optin=227, clusters=(8, 16)),
    *_suffixed(100, (8, 6), family_since=(8, 8), family="sm_10x", optin=227, clusters=(8, 16)),
    *_suffixed(101, (8, 6), family_since=(8, 8), family="sm_11x", optin=227, clusters=(8, 16), renamed=110),
    *_suffixed(103, (8, 8), family_since=(8, 8), family="sm_10x", optin=227, clusters=(8, 16)),
    # sm_107: supported since ptxas 13.4. The tables of limits lack 10.7; the row has the limits of its family.
    *_suffixed(107, (9, 4), family_since=(9, 4), family="sm_10x", optin=227, clusters=(8, 16)),
    *_suffixed(110, (9, 0), family_since=(9, 0), family="sm_11x", optin=227, clusters=(8, 16)),
    *_suffixed(120, (8, 7), family_since=(8, 8), family="sm_12x", optin=99, clusters=(8, 8)),
    *_suffixed(121, (8, 8), family_since=(8, 8), family="sm_12x", optin=99, clusters=(8, 8)),
)


def unknown_target(name: str, known: tuple[str, ...]) -> TargetError:
    """Return the error for a target called `name` that is not among `known`."""
    from pyptx_ir.suggestions import close_names

    close = close_names(name, known, most=3)
    if close:
        help = f"did you mean {' or '.join(close)}?"
    else:
        help = f"known targets: {', '.join(target for target in known if int(_number(target)) >= 75)}"
    return TargetError(f"unknown target {name!r}", help=help)


def _number(name: str) -> str:
    digits = "".join(character for character in name if character.isdigit())
    return digits or "999"
