"""Transpiler rules for Hopper: rings of mbarriers (one per pipeline stage), matrix descriptors and accumulators."""
