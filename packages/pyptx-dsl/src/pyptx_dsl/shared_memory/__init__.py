"""Allocations in shared memory, their layouts and swizzles, mbarriers, and TMA tiles."""
