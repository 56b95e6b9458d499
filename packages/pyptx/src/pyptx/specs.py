"""Specifications of kernel arrays: shape, dtype and layout."""

from pyptx_dsl.contract.im2col import Im2col
from pyptx_dsl.contract.scalars import Scalar
from pyptx_dsl.contract.specs import Dim, Layout, Tile, unify_envs

__all__ = ["Dim", "Im2col", "Layout", "Scalar", "Tile", "unify_envs"]
