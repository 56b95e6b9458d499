"""The memory model of PTX, and the races that it calls so. Manual: "Memory Consistency Model", section by section.

Everything rests on clocks: a thread's row says up to what time it knows of the work of every other thread, and that is
base causality order. What the sections of the manual say, and who does it:

- "Scope", "Morally strong operations": `Causality` compares strong accesses by size and by the scopes of both,
  `ReleaseClocks` the scopes of fences, and of what releases and acquires.
- "Program Order": each warp's time, `WarpClocks.now`; lanes that have not met have columns of their own.
- "Observation Order": `Observations` knows who comes behind a strong write that it read; updates pass messages on.
- "Fence-SC Order": in `ReleaseClocks`, a fence that is `.sc` learns what earlier ones knew, and leaves what it knows.
- "Release and Acquire Patterns", "Memory synchronization": `ReleaseClocks` that fences and releases leave at locations.
- Barriers, mbarriers and clusters: `WarpClocks.meet`; `Phases`, at which arrivals leave and waits learn; `Relaxed`,
  what fences beside them leave and learn.
- "Causality Order": `Causality` puts these together; columns that say what a proxy was shown, in `checks.asynchrony`.
- "Conflict and Data-races": `Accesses` holds each access against the last ones of its bytes; `Retired` is what is known
  of waves that are gone.
- "Coherence Order", and the axioms "Coherence", "Atomicity", "Causality" and "Sequential Consistency Per Location":
  `Past` says which writes a read may still return, and where a store may come.
- "No Thin Air": nothing is read before it has been written; loads come late, never early.

`tests/litmus` enumerates the same axioms by brute force, shares nothing with this, and is held against it both ways.
"""
