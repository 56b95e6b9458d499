"""Plugin of the DSL: registers its namespaces through the hooks that third parties use.

The namespaces are attributes of `ptx` already. They are registered so that the plugin manager can name both plugins if
another plugin defines the same name. The DSL is imported on first use only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins.marker import hookimpl
from pyptx_ir.plugins.version import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins.advice import Advice
    from pyptx_ir.plugins.rows import Command, LaunchAttribute
    from pyptx_ir.plugins.source_rows import CommandInput, PtxSource, SourceFormat

__all__ = [
    "pyptx_advice",
    "pyptx_api_version",
    "pyptx_commands",
    "pyptx_launch_attributes",
    "pyptx_namespaces",
    "pyptx_sources",
]

_NAMESPACES = (
    *("atom", "bar", "barrier", "cp", "createpolicy", "cvta", "fence", "inst", "match", "mbarrier", "mma", "red"),
    *("redux", "shfl", "special", "vote", "warp", "wmma"),
)
# Namespaces that plugins may extend, by dotted names.
_EXTENSIBLE = ("cp", "cp.async_", "fence")


@hookimpl
def pyptx_api_version() -> int:
    """Return the hook version that this plugin implements; hooks and plugin are released together."""
    return API_VERSION


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return the namespaces that `ptx` has without plugins, and the members of the extensible ones."""
    import operator

    from pyptx_dsl import ptx

    namespaces: dict[str, object] = {name: getattr(ptx, name) for name in _NAMESPACES}
    for parent in _EXTENSIBLE:
        owner = operator.attrgetter(parent)(ptx)
        inside = (name for name in object.__dir__(owner) if not name.startswith("_"))
        namespaces |= {f"{parent}.{name}": getattr(owner, name) for name in inside}
    return namespaces


@hookimpl
def pyptx_launch_attributes() -> Sequence[LaunchAttribute]:
    """Return the launch attributes that every device supports."""
    from pyptx_dsl.contract.launch_attributes import ROWS

    return ROWS


@hookimpl
def pyptx_advice() -> Sequence[Advice]:
    """Return explanations of ptxas messages that apply to every architecture."""
    from pyptx_dsl.inspect.advice import ADVICE

    return ADVICE


@hookimpl
def pyptx_commands() -> Sequence[Command]:
    """Return the commands that print, measure and create kernels, and write stubs."""
    from pyptx_ir.plugins.commands import command

    return (
        command("ptx", "print the PTX of a kernel in a Python file, or of an image", "pyptx_dsl.listings:ptx"),
        command("sass", "print the machine code of a kernel", "pyptx_dsl.listings:sass"),
        command("resources", "print registers, memory and spills of a kernel", "pyptx_dsl.listings:resources"),
        command("layout", "print parameters, shared memory and fragments of a kernel", "pyptx_dsl.listings:layout"),
        command("bench", "measure the time of a kernel of a Python file on a GPU", "pyptx_dsl.bench:bench"),
        command("new", "write a Python file with a kernel that runs", "pyptx_dsl.new:new"),
        command(
            "stubs", "write a type stub of ptx.inst with the instructions of plugins", "pyptx_dsl.stubs.command:stubs"
        ),
    )


@hookimpl
def pyptx_sources() -> Sequence[SourceFormat]:
    """Return the input format of commands for kernels of Python files: `FILE.py:KERNEL`."""
    from pyptx_ir.plugins.source_rows import SourceFormat
    from pyptx_ir.sources import KERNEL_OF_FILE

    return (SourceFormat("kernels of Python files", _read_kernel, named=KERNEL_OF_FILE),)


def _read_kernel(source: CommandInput) -> Sequence[PtxSource]:
    from pyptx_dsl.listings import read_kernel

    return read_kernel(source)
