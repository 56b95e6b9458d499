"""Hopper's namespaces and functions in `ptx`, by name; dotted names extend namespaces of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_arch_hopper.ptx.async_stores import red_async, st_async
from pyptx_arch_hopper.ptx.bulk_copy import bulk, reduce
from pyptx_arch_hopper.ptx.clusters import cluster
from pyptx_arch_hopper.ptx.control import elect_sync, griddepcontrol, setmaxnreg, setmaxnreg_dec, setmaxnreg_inc
from pyptx_arch_hopper.ptx.fences import FENCES
from pyptx_arch_hopper.ptx.multimem import multimem
from pyptx_arch_hopper.ptx.stmatrix import stmatrix_x4_trans_f32_bf16
from pyptx_arch_hopper.ptx.tensor_maps import tensormap
from pyptx_arch_hopper.ptx.tma import tma
from pyptx_arch_hopper.ptx.wgmma import wgmma

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names that this plugin adds directly to the `ptx` namespace, for type checkers.
__all__ = [
    "cluster",
    "elect_sync",
    "griddepcontrol",
    "multimem",
    "red_async",
    "setmaxnreg",
    "setmaxnreg_dec",
    "setmaxnreg_inc",
    "st_async",
    "stmatrix_x4_trans_f32_bf16",
    "tensormap",
    "tma",
    "wgmma",
]

NAMESPACES: Mapping[str, object] = {
    "wgmma": wgmma,
    "tma": tma,
    "tensormap": tensormap,
    "cluster": cluster,
    "setmaxnreg": setmaxnreg,
    "setmaxnreg_inc": setmaxnreg_inc,
    "setmaxnreg_dec": setmaxnreg_dec,
    "elect_sync": elect_sync,
    "griddepcontrol": griddepcontrol,
    "multimem": multimem,
    "st_async": st_async,
    "red_async": red_async,
    "stmatrix_x4_trans_f32_bf16": stmatrix_x4_trans_f32_bf16,
    "cp.async_.bulk": bulk,
    "cp.async_bulk": bulk,
    "cp.reduce": reduce,
    **{f"fence.{name}": fence for name, fence in FENCES.items()},
}
