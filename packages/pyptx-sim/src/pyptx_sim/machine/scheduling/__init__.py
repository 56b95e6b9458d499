"""Scheduling of warp splits: choice of the next basic block, waits for lanes of a warp, polling, livelock detection."""
