"""Ahead-of-time compiled kernels: JSON records of their launches, and the bundle folders that store them."""

from __future__ import annotations

from pyptx_bundles.export import export
from pyptx_bundles.load import load
from pyptx_bundles.loaded import Bundle, LoadedKernel
from pyptx_bundles.record import record, restore
from pyptx_dsl.errors import BundleError

__tracebackhide__ = True

__all__ = ["Bundle", "BundleError", "LoadedKernel", "export", "load", "record", "restore"]
