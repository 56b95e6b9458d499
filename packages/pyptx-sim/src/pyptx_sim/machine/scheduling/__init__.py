"""Scheduling of warp splits: choice of the next block, gates, polling and livelock detection."""
