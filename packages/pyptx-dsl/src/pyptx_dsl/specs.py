"""Deprecated, for one release: see `pyptx_dsl.contract.specs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["Layout", "Tile", "unify_envs"]

if TYPE_CHECKING:
    from pyptx_dsl.contract.specs import Layout, Tile, unify_envs
else:
    from pyptx_ir.deprecated import moved_names

    __getattr__ = moved_names(__name__, {name: f"pyptx_dsl.contract.specs.{name}" for name in __all__})
