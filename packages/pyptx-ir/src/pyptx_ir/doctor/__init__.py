"""`pyptx doctor`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

from pyptx_ir.doctor.command import diagnose, doctor

__all__ = ["diagnose", "doctor"]
