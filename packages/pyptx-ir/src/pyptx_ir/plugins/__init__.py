"""Plugins: hook specifications, the rows that hooks return, and the manager that loads plugins."""

from __future__ import annotations

from pyptx_ir.plugins.commands import command
from pyptx_ir.plugins.errors import MissingPluginError, PluginError
from pyptx_ir.plugins.marker import hookimpl
from pyptx_ir.plugins.rows import Command, Diagnosis, DoctorCheck, LaunchAttribute, Runtime, SugarRule
from pyptx_ir.plugins.semantics import Semantics
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.plugins.version import API_VERSION

__all__ = [
    "API_VERSION",
    "Command",
    "Diagnosis",
    "DoctorCheck",
    "LaunchAttribute",
    "MissingPluginError",
    "PluginError",
    "Runtime",
    "Semantics",
    "SugarRule",
    "command",
    "find_target",
    "hookimpl",
]
