"""Allocations in shared memory, their layouts and swizzles, barriers, and tensor maps."""
