"""Ahead-of-time compiled kernels: `pyptx export` writes bundles of compiled kernels, `load` reads a bundle."""

from pyptx_bundles import Bundle, BundleError, LoadedKernel, export, load

__all__ = ["Bundle", "BundleError", "LoadedKernel", "export", "load"]
