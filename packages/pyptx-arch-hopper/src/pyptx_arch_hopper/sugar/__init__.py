"""Transpiler rules for Hopper: rings of mbarriers, matrix descriptors and accumulators."""
