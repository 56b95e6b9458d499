"""Text description of a module: its target, its kernels with their parameters, and how to run the kernels."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from pyptx_dsl.modules.launch_lines import launch_lines
from pyptx_dsl.modules.pointers import pointers
from pyptx_ir.isa.modules.sizes import storage_of
from pyptx_ir.isa.target_rows import TargetError
from pyptx_ir.plugins.targets import find_target
from pyptx_ir.syntax import nodes, spell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyptx_dsl.modules.entry_kernels import Entry
    from pyptx_dsl.modules.pointers import Pointer
    from pyptx_ir.syntax.operands import Operand

_ALIGNMENT = 1024
"""Alignment in bytes that a kernel may require of dynamic shared memory with swizzled tiles."""


def described(module: nodes.Module, entries: Mapping[str, Entry]) -> str:
    """Return the module's target, a paragraph for each kernel, and a text on how to run the kernels.

    `entries` are the functions with bodies, by PTX name.
    """
    return "\n".join(_lines(module, entries))


def _lines(module: nodes.Module, entries: Mapping[str, Entry]) -> Iterator[str]:
    version = next((node for node in module.body if isinstance(node, nodes.Version)), None)
    target = next((node for node in module.body if isinstance(node, nodes.Target)), None)
    written = f"PTX {version.major}.{version.minor}" if version is not None else "PTX"
    yield f"{written} for {', '.join(target.names) if target is not None else 'no target'}"
    functions = [node for node in module.body if isinstance(node, nodes.Function) and node.body is not None]
    kernels = [(node, pointers(node)) for node in functions if node.kind == "entry"]
    dynamic = list(_dynamic(module))
    for kernel, pointed in kernels:
        yield ""
        yield from _kernel(kernel, pointed, entries.get(kernel.name))
    if dynamic:
        yield ""
        yield f"The launch sets the size of the dynamic shared memory ({', '.join(dynamic)}): smem=…, in bytes."
    yield ""
    if not kernels:
        yield "The text is module.ptx(). It has no kernel: link it with a module that calls its functions."
        return
    yield "The text is module.ptx(), the machine code module.cubin()."
    (first, pointed), *_ = kernels
    if first.name in entries:
        yield ""
        function = entries[first.name].function
        most = _most_shared(module, first)
        yield from launch_lines(first, pointed, function.__name__, _file(function), dynamic=dynamic, most_shared=most)
    yield ""
    yield "The simulator runs any kernel of the module, with numbers and addresses as arguments:"
    yield f"    pyptx_sim.run(module.module(), entry={first.name!r}, grid=…, block=…, args=[…])"


def _kernel(kernel: nodes.Function, pointed: Mapping[str, Pointer], entry: Entry | None) -> Iterator[str]:
    """Yield the names of a kernel in Python and in PTX, its parameters, and the launch directives of its header."""
    name = kernel.name if entry is None else entry.function.__name__
    yield f"kernel {name}({', '.join(_parameter(each, kernel, pointed) for each in kernel.parameters or ())})"
    said = None if entry is None else inspect.getdoc(entry.function)
    if said:
        yield f"    {said.splitlines()[0]}"
    if name != kernel.name:
        yield f"    .entry {kernel.name}"
    for directive in kernel.directives:
        yield f"    .{directive.name} {', '.join(_shown(each) for each in directive.arguments)}".rstrip()
    size = sum(_sizes(kernel.body))
    if size:
        yield f"    .shared, {size} bytes"


def _dynamic(module: nodes.Module) -> Iterator[str]:
    """Yield the names of a module's `extern .shared` variables, which are dynamic shared memory."""
    for node in module.body:
        if isinstance(node, nodes.Variable) and node.space == "shared" and node.linking == "extern":
            yield from (each.name for each in node.declarators)


def _most_shared(module: nodes.Module, kernel: nodes.Function) -> int:
    """Return the bytes of shared memory per CTA that the static variables of a module and a kernel leave free."""
    try:
        (name, *_) = next(node.names for node in module.body if isinstance(node, nodes.Target))
        most = find_target(name).shared_optin
    except (StopIteration, TargetError):
        return 0
    static = sum(_sizes(kernel.body)) + sum(_sizes(module))
    return most - -(-static // _ALIGNMENT) * _ALIGNMENT


def _sizes(block: nodes.Block | nodes.Module | None) -> Iterator[int]:
    """Yield the bytes of the shared variables declared in a body, or in a module outside of bodies."""
    for node in () if block is None else block.body:
        if isinstance(node, nodes.Block):
            yield from _sizes(node)
        elif isinstance(node, nodes.Variable) and node.space == "shared":
            yield from (storage_of("shared", node, each.dimensions).size or 0 for each in node.declarators)


def _file(function: Callable[..., object]) -> str:
    """Return the module name of a function's file; "my_kernel" if the file's name is not an identifier."""
    stem = Path(inspect.unwrap(function).__code__.co_filename).stem
    return stem if stem.isidentifier() else "my_kernel"


def _parameter(each: nodes.Parameter, kernel: nodes.Function, pointed: Mapping[str, Pointer]) -> str:
    pointer = pointed.get(each.name)
    target = "" if pointer is None else f" to {pointer.element}{', written' if pointer.written else ''}"
    return f"{each.name.removeprefix(f'{kernel.name}_')}: .{each.type}{_size(each)}{target}"


def _size(parameter: nodes.Parameter) -> str:
    return "".join(f"[{'' if each is None else spell(each)}]" for each in parameter.dimensions)


def _shown(argument: Operand | str) -> str:
    return f'"{argument}"' if isinstance(argument, str) else spell(argument)
