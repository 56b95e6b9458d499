"""Timelines of warps, barriers and asynchronous operations in a run, as Chrome trace events or an SVG drawing."""

from pyptx_sim.timeline.recording import Recording

__all__ = ["Recording"]
