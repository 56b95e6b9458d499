"""Data-race checks, by the sections of the PTX manual's "Memory Consistency Model".

Order is computed from vector clocks. The vector clock of a thread has a component per warp: the time up to which the
accesses of that warp happen before the thread's next access (base causality order). These classes implement the
manual's sections:

- "Scope", "Morally strong operations": `Causality` compares the sizes and scopes of two strong accesses;
  `ReleaseClocks` compares the scopes of fences, releases and acquires.
- "Program Order": the time of each warp, `WarpClocks.now`. Lanes of a warp that release separately have clock
  components of their own.
- "Observation Order": `Observations` records the threads that have read each strong write. A read-modify-write passes
  on the release clock of the write that it reads.
- "Fence-SC Order": in `ReleaseClocks`, a `fence.sc` acquires the clocks of all earlier `fence.sc` and releases its own
  clock.
- "Release and Acquire Patterns", "Memory synchronization": `ReleaseClocks`, the clocks that fences and releases attach
  to memory locations.
- Barriers, mbarriers and clusters: `WarpClocks.meet`; `Phases`, to which arrivals release and from which waits acquire;
  `Relaxed`, for relaxed arrivals and waits with fences.
- "Causality Order": `Causality` combines these orders. The clock components of proxy fences are in `checks.asynchrony`.
- "Conflict and Data-races": `Accesses` compares each access with the last accesses to the same bytes; `Retired` has the
  clock components of warps of earlier waves of CTAs.
- "Coherence Order", and the axioms "Coherence", "Atomicity", "Causality" and "Sequential Consistency Per Location":
  `OlderWrites` determines the writes that a read may return, and the places of a store in coherence order.
- "No Thin Air": a read returns only values that have been written. Loads may be delayed, never advanced.

`tests/litmus` enumerates all executions that the same axioms allow, with code of its own. Each outcome of the
enumeration must be an outcome of this package, and vice versa.
"""
