"""Kernels: from the decorator to a specialisation, and to who runs it."""
