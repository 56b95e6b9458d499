"""Deprecated, for one release: see `pyptx_dsl.kernels.kernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Kernel"]

if TYPE_CHECKING:
    from pyptx_dsl.kernels.kernel import Kernel
else:
    from pyptx_ir.deprecated import moved_names

    __getattr__ = moved_names(__name__, {name: f"pyptx_dsl.kernels.kernel.{name}" for name in __all__})
