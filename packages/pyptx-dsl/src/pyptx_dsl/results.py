"""Deprecated, for one release: see `pyptx_dsl.kernels.results`."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Array", "Kind_co", "OutSpecs_co"]

if TYPE_CHECKING:
    from pyptx_dsl.kernels.results import Array, Kind_co, OutSpecs_co
else:
    from pyptx_ir.deprecated import moved_names

    __getattr__ = moved_names(__name__, {name: f"pyptx_dsl.kernels.results.{name}" for name in __all__})
