"""Fragments: the register and lane of each matrix element, for every tensor-core instruction."""

from pyptx_ir.fragments.layout import ElementPosition, Fragment, Stride
from pyptx_ir.fragments.lookup import fragment_of, move_of
from pyptx_ir.fragments.mma import mma_fragment, wmma_fragment
from pyptx_ir.fragments.sparse import Sparsity, metadata_fragment, selected_lanes, sparse_fragment

__all__ = [
    "ElementPosition",
    "Fragment",
    "Sparsity",
    "Stride",
    "fragment_of",
    "metadata_fragment",
    "mma_fragment",
    "move_of",
    "selected_lanes",
    "sparse_fragment",
    "wmma_fragment",
]
