"""What a module is, in words: its target, its kernels and their parameters, and how they are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.syntax import nodes, spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_ir.syntax.operands import Operand


def described(module: nodes.Module) -> str:
    """Return a line for what a module is for, a paragraph for each kernel, and how to run them."""
    return "\n".join(_lines(module))


def _lines(module: nodes.Module) -> Iterator[str]:
    version = next((node for node in module.body if isinstance(node, nodes.Version)), None)
    target = next((node for node in module.body if isinstance(node, nodes.Target)), None)
    written = f"PTX {version.major}.{version.minor}" if version is not None else "PTX"
    yield f"{written} for {', '.join(target.names) if target is not None else 'no target'}"
    functions = [node for node in module.body if isinstance(node, nodes.Function) and node.body is not None]
    kernels = [node for node in functions if node.kind == "entry"]
    for kernel in kernels:
        yield ""
        yield f"kernel {kernel.name}({_parameters(kernel)})"
        for directive in kernel.directives:
            yield f"    .{directive.name} {', '.join(_shown(each) for each in directive.arguments)}".rstrip()
    yield ""
    if kernels:
        name = kernels[0].name
        yield f"The text is module.ptx(). On a GPU, load that with the driver, and launch {name!r} of it. On a CPU:"
        yield f"    pyptx_sim.run(module.module(), entry={name!r}, grid=…, block=…, args=[…])"
    else:
        yield "The text is module.ptx(). It has no kernel: link it with one that calls its functions."


def _parameters(kernel: nodes.Function) -> str:
    return ", ".join(f"{each.name}: .{each.type}{_size(each)}" for each in kernel.parameters or ())


def _size(parameter: nodes.Parameter) -> str:
    return "".join(f"[{'' if each is None else spell(each)}]" for each in parameter.dimensions)


def _shown(argument: Operand | str) -> str:
    return f'"{argument}"' if isinstance(argument, str) else spell(argument)
