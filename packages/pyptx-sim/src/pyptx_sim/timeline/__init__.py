"""Timelines: what warps, barriers and asynchronous engines did in a run, as Chrome's trace events or as a drawing."""

from pyptx_sim.timeline.recording import Recording

__all__ = ["Recording"]
