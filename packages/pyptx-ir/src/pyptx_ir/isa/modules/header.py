"""Check the header directives of a module: `.version`, `.target`, `.address_size`. Manual: "PTX Module Directives"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.modules.findings import Finding
from pyptx_ir.isa.modules.texture_modes import INDEPENDENT
from pyptx_ir.isa.target_rows import OLDEST_IN_TABLE, TARGETS, TargetError
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax.nodes import AddressSize, Target, Version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.isa.modules.walk import Walk
    from pyptx_ir.syntax.nodes import Statement

# Last minor version of each major version. Manual: "Release Notes"; each measured on ptxas 13.5.
_LAST_MINOR = {1: 5, 2: 3, 3: 2, 4: 3, 5: 1, 6: 5, 7: 8, 8: 8, 9: 5}
VERSIONS = tuple((major, minor) for major, last in _LAST_MINOR.items() for minor in range(last + 1))
NEWEST = VERSIONS[-1]
# Targets older than the instruction table; ptxas 13.5 still accepts their names.
_RETIRED = frozenset(row.name for row in TARGETS if row.number < OLDEST_IN_TABLE)
_MAPPED = "map_f64_to_f32"
_OPTIONS = ("texmode_unified", INDEPENDENT, "debug", _MAPPED)


def read_header(walk: Walk, statements: Sequence[Statement]) -> int:
    """Read version and target from the first statements of a module; return the number of these statements."""
    count = next(
        (i for i, node in enumerate(statements) if not isinstance(node, Version | Target | AddressSize)),
        len(statements),
    )
    head = statements[:count]
    first = walk.at + 1
    if not any(isinstance(node, Version) for node in head):
        walk.report(
            Finding("missing-version", "missing .version at the start of the module", "add .version 9.0", at=first)
        )
    if not any(isinstance(node, Target) for node in head):
        help = "add .target sm_90a after .version"
        walk.report(Finding("missing-target", "missing .target after .version", help, at=first))
    for i, node in enumerate(head):
        _read(walk, node, first + i, head[:i])
    return count


def _read(walk: Walk, node: Statement, at: int, above: Sequence[Statement]) -> None:
    seen = {type(other) for other in above}
    if isinstance(node, Version):
        if Version in seen:
            walk.report(Finding("misplaced-directive", "duplicate .version", "remove it", at=at))
            return
        if above:
            walk.report(
                Finding("misplaced-directive", ".version must precede everything else", "move .version up", at=at)
            )
        _read_version(walk, node, at)
    elif isinstance(node, Target):
        if AddressSize in seen:
            walk.report(Finding("misplaced-directive", ".target must precede .address_size", "move .target up", at=at))
        _read_target(walk, node, at)
    elif isinstance(node, AddressSize) and AddressSize in seen:
        walk.report(Finding("misplaced-directive", "duplicate .address_size", "remove it", at=at))
    elif isinstance(node, AddressSize) and node.bits not in (32, 64):
        message = f".address_size must be 32 or 64, got {node.bits}"
        walk.report(Finding("directive-argument", message, "write .address_size 64", word=str(node.bits), at=at))
    elif isinstance(node, AddressSize):
        walk.address_size = node.bits


def late(walk: Walk, node: Statement) -> None:
    """Reject `.version`, `.target` and `.address_size` after other statements."""
    if walk.at < walk.header_end:
        return
    name = "version" if isinstance(node, Version) else "target" if isinstance(node, Target) else "address_size"
    message = f".{name} must be at the start of the module"
    walk.report(Finding("misplaced-directive", message, "move the directive up, or remove it"))


def _read_version(walk: Walk, node: Version, at: int) -> None:
    version = (node.major, node.minor)
    spelt = f"{node.major}.{node.minor}"
    if version > NEWEST:
        help = f"write .version {NEWEST[0]}.{NEWEST[1]}, the newest known; later additions may be reported as errors"
        message = f"PTX {spelt} is newer than the instruction table"
        walk.report(Finding("newer-version", message, help, word=spelt, at=at))
    elif node.minor > _LAST_MINOR.get(node.major, -1):
        last = _LAST_MINOR.get(node.major)
        help = (
            f"write .version {node.major}.{last}, the last {node.major}.x" if last is not None else "write .version 9.0"
        )
        walk.report(Finding("unknown-version", f"unknown PTX version {spelt}", help, word=spelt, at=at))
        return
    walk.version = version
    if walk.forced is not None:
        _compare(walk, walk.forced, spelt, at)


def _read_target(walk: Walk, node: Target, at: int) -> None:
    named = [name for name in node.names if name not in _OPTIONS]
    first = node.names[0] if node.names else ""
    if first in _OPTIONS and walk.target is None:
        message, help = (
            f".target must begin with a device, got option {first}",
            "write .target sm_90a, then the options",
        )
        walk.report(Finding("directive-argument", message, help, word=first, at=at))
    if _MAPPED in node.names and any(name not in _RETIRED for name in named):
        message, help = f"{_MAPPED} is only for retired devices without .f64", "remove it"
        walk.report(Finding("directive-argument", message, help, word=_MAPPED, at=at))
    for name in named:
        if name in _RETIRED:
            if walk.forced is None:
                message = f"{name} is older than the instruction table"
                help = "pass --target sm_75 to check instructions, which are not checked for a retired target"
                walk.report(Finding("retired-target", message, help, word=name, at=at))
            continue
        try:
            find_target(name)
        except TargetError as error:
            walk.report(Finding("unknown-target", error.message, error.help or "", word=name, at=at))
            continue
        if walk.forced is None:
            walk.target = name
            _compare(walk, name, name, at)
    modes = [name for name in node.names if name.startswith("texmode_")]
    walk.independent_textures |= INDEPENDENT in modes
    if len(set(modes)) > 1:
        message = "conflicting texture modes texmode_unified and texmode_independent"
        walk.report(Finding("directive-conflict", message, "remove one of the two texture modes", word=modes[1], at=at))


def _compare(walk: Walk, target: str, word: str, at: int) -> None:
    """Reject a target that the module's version does not support."""
    row = find_target(target)
    if walk.version is None or walk.version >= row.since:
        return
    since = f"{row.since[0]}.{row.since[1]}"
    message = f"{target} needs PTX {since}; this module is version {walk.version[0]}.{walk.version[1]}"
    walk.report(Finding("target-version", message, f"write .version {since}", word=word, at=at))
