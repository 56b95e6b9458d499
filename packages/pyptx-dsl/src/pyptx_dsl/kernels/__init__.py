"""Kernels: decorator, specialization, and dispatch to runtimes."""
