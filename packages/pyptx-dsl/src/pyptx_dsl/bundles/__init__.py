"""Kernels compiled ahead of time: records of what a launch needs, and the folders that hold them."""

from __future__ import annotations

from pyptx_dsl.bundles.record import record, restore
from pyptx_dsl.errors import BundleError

__all__ = ["BundleError", "record", "restore"]
