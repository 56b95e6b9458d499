"""Detection of the target of the machine's first GPU."""

from __future__ import annotations

import functools
import re

from pyptx_dsl.errors import ArchError

# Compute capabilities whose tensor core instructions need the architecture-specific target (suffix a).
_SUFFIXED = frozenset({90, 100, 101, 103, 110})
_NAME_IT = '@kernel(arch="sm_90a")'


@functools.lru_cache(maxsize=1)
def detect_arch() -> str:
    """Return the target of the first GPU (`"sm_90a"`, `"sm_86"`, …), as reported by an installed runtime.

    Hopper and the data-center Blackwells get the suffix `a`, which their tensor cores need. Raises ArchError if no
    runtime that launches on GPUs is installed, or none sees a GPU.
    """
    from pyptx_ir.plugins.manager import manager

    asked = [runtime.capability for runtime in manager().runtimes() if runtime.capability is not None]
    if not asked:
        from pyptx_ir.plugins.homes import gpu_remedy

        raise ArchError(
            "cannot detect the GPU's target: no runtime that launches on GPUs is installed",
            help=f"{gpu_remedy()}, or pass the target: {_NAME_IT}",
        )
    reasons: list[str] = []
    for capability in asked:
        try:
            return target_of(*capability())
        except RuntimeError as error:
            reasons.append(str(error).partition("\nhelp: ")[0])
    raise ArchError(f"cannot detect the GPU's target: {reasons[0]}", help=f"pass the target: {_NAME_IT}")


def target_of(major: int, minor: int) -> str:
    """Return the PTX target for a compute capability, with suffix `a` where tensor cores need it."""
    number = major * 10 + minor
    return f"sm_{number}{'a' if number in _SUFFIXED else ''}"


def product_hint(name: str) -> str | None:
    """Return a help text with the target of a product or architecture (`"H100"`, `"hopper"`, `"9.0"`), or None."""
    from pyptx_dsl.python_habits import ARCHES
    from pyptx_ir.isa.target_rows import TARGETS

    words = re.sub(r"[\s_-]|nvidia|geforce|tesla", "", name.lower())
    product = re.sub(r"(?<=[a-z\d])(pcie|sxm\d?|nvl|\d+gb|ti|super|ultra).*", "", words)
    found = ARCHES.get(product)
    if found is not None:
        return f'targets are named by compute capability: arch="{found}" is {name}, "auto" is this machine\'s GPU'
    number = re.fullmatch(r"(?:sm|compute|cc)?(\d\d\d?[af]?)", words.replace(".", ""))
    target = None if number is None else f"sm_{number[1]}"
    return f'write arch="{target}"' if any(row.name == target for row in TARGETS) else None
