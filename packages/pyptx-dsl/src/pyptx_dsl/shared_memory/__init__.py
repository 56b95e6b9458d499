"""Allocations in shared memory, their layouts and swizzles, mbarriers, and tiles that TMA fills."""
