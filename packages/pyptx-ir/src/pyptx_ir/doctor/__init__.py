"""`pyptx doctor`: report the state of the installation, with a hint for each problem."""

from __future__ import annotations

from pyptx_ir.doctor.command import diagnose, doctor

__all__ = ["diagnose", "doctor"]
