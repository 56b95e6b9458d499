"""Which target the machine's first GPU is."""

from __future__ import annotations

import functools

from pyptx_dsl.errors import ArchError

# Devices whose tensor cores need the architecture-specific target.
_SUFFIXED = frozenset({90, 100, 101, 103, 110})
_NAME_IT = '@kernel(arch="sm_90a")'


@functools.lru_cache(maxsize=1)
def detect_arch() -> str:
    """Return the target of the first GPU (`"sm_90a"`, `"sm_86"`, …), as an installed runtime tells it.

    Hopper and the datacentre Blackwells get the suffix `a`, which `wgmma` and `tcgen05` need. Raises ArchError where
    no runtime that launches on GPUs is installed, or none sees one.
    """
    from pyptx_ir.plugins.manager import manager

    asked = [runtime.capability for runtime in manager().runtimes() if runtime.capability is not None]
    if not asked:
        raise ArchError(
            "cannot detect the GPU's target: no runtime that launches on GPUs is installed",
            hint=f"pip install 'pyptx[torch]' or 'pyptx[jax]', or name the target: {_NAME_IT}",
        )
    reasons: list[str] = []
    for capability in asked:
        try:
            return target_of(*capability())
        except RuntimeError as error:
            reasons.append(str(error).partition("\nhint: ")[0])
    raise ArchError(f"cannot detect the GPU's target: {reasons[0]}", hint=f"name it: {_NAME_IT}")


def target_of(major: int, minor: int) -> str:
    """Return the target for a compute capability."""
    number = major * 10 + minor
    return f"sm_{number}{'a' if number in _SUFFIXED else ''}"
