"""Plugin of pyptx-virtual: the command that runs programs on the virtual GPU, and the runtime of pyptx's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Command, Runtime


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin implements."""
    return API_VERSION


@hookimpl
def pyptx_runtimes() -> Sequence[Runtime]:
    """Return the runtime to which pyptx-torch passes kernels on CUDA tensors while the virtual GPU is active."""
    from pyptx_virtual.runtime import RUNTIME

    return (RUNTIME,)


@hookimpl
def pyptx_commands() -> Sequence[Command]:
    """Return the command that runs programs."""
    from pyptx_ir.plugins.commands import command

    return (command("run", "run a Python program on a virtual GPU", "pyptx_virtual.command:run"),)
