"""Instructions that the engine itself executes: memory accesses, control flow, barriers and address computations."""
