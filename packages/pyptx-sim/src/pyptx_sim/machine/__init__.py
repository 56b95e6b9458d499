"""The simulated machine: lanes, registers, memory, warp splits, barriers, but not the semantics of instructions."""
