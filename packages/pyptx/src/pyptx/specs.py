"""What a kernel promises about its arrays."""

from pyptx_dsl.specs import Dim, Layout, Tile, unify_envs

__all__ = ["Dim", "Layout", "Tile", "unify_envs"]
