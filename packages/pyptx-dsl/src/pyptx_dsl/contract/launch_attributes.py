"""Launch attributes of `@kernel(launch={"cooperative": True})`: validation and encoding for the driver.

Every device supports the attributes defined here; architecture plugins add theirs through the hook
`pyptx_launch_attributes`. CUDA driver API: "CUlaunchAttributeID", "CUlaunchAttributeValue".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from pyptx_dsl.contract.launch import three
from pyptx_dsl.errors import LaunchError, close
from pyptx_dsl.registers.operands import as_integer
from pyptx_ir.plugins.rows import LaunchAttribute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyptx_ir.isa.target_rows import TargetRow

ROWS: Final = (
    LaunchAttribute(
        "cooperative", 2, "flag", "run all CTAs of the grid at the same time, so that CTAs may wait for each other"
    ),
    LaunchAttribute("priority", 8, "int", "priority of the launch; a lower number is a higher priority"),
    LaunchAttribute(
        "preferred_shared_memory_carveout", 14, "int", "percentage of the L1 cache that is used as shared memory"
    ),
)


def encode_attributes(launch: object, target: TargetRow) -> tuple[tuple[int, bytes], ...]:
    """Return the CUlaunchAttributeID and value of each attribute; raise LaunchError for an unsupported attribute."""
    if launch is None:
        return ()
    if not isinstance(launch, Mapping):
        raise LaunchError(f"launch must be a mapping, got {launch!r}", help='write launch={"cooperative": True}')
    given = cast("Mapping[object, object]", launch)
    known = _known() if given else {}
    return tuple(sorted(_encoded(str(name), value, known, target) for name, value in given.items()))


def _known() -> dict[str, LaunchAttribute]:
    from pyptx_ir.plugins.manager import manager

    return {row.name: row for row in manager().launch_attributes()}


def _encoded(name: str, value: object, known: Mapping[str, LaunchAttribute], target: TargetRow) -> tuple[int, bytes]:
    row = known.get(name)
    if row is None:
        from pyptx_ir.plugins.homes import home_of_launch_attribute, install_hint

        home = home_of_launch_attribute(name)
        help = install_hint(home) if home else close(name, tuple(known))
        raise LaunchError(f"unknown launch attribute {name!r}", help=help)
    _check_capability(row, target)
    return row.number, _value(row, value)


def check_attributes(attributes: Iterable[tuple[int, bytes]], target: TargetRow) -> None:
    """Raise LaunchError for an encoded attribute that `target`, for which a kernel is exported, does not support."""
    rows = {row.number: row for row in _known().values()} if attributes else {}
    for number, _ in attributes:
        _check_capability(rows[number], target)


def _check_capability(row: LaunchAttribute, target: TargetRow) -> None:
    major, minor = row.capability
    if target.number < 10 * major + minor:
        raise LaunchError(
            f"launch attribute {row.name!r} needs compute capability {major}.{minor}; the kernel is for {target.name}"
        )


def _value(row: LaunchAttribute, value: object) -> bytes:
    """Return an attribute's bytes at the start of CUlaunchAttributeValue; raise LaunchError for an invalid value."""
    if row.kind == "flag" and isinstance(value, bool):
        return struct.pack("<i", value)
    if row.kind == "size":
        return struct.pack("<3I", *three(f"launch[{row.name!r}]", value))
    if row.kind == "choice" and value in row.choices:
        return struct.pack("<i", row.choices.index(str(value)))
    number = as_integer(value) if row.kind == "int" and not isinstance(value, bool) else None
    if number is not None:
        return struct.pack("<i", number)
    wanted = {"flag": "True or False", "int": "an integer"}.get(row.kind) or " or ".join(map(repr, row.choices))
    raise LaunchError(f"launch[{row.name!r}]={value!r}", help=f"{row.summary}: {wanted}")
