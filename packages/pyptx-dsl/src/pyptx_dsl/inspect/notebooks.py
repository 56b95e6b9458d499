"""HTML of a kernel for notebooks: its parameters, and its listing if all sizes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.contract.tables import parameter_table
from pyptx_ir.drawing import Markup, element, notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.inspect.side_by_side import KernelListing
    from pyptx_dsl.kernels.declaration import Declaration


def kernel_html(declaration: Declaration, listing: Callable[[], KernelListing]) -> str:
    """Return a table of the kernel's parameters, then the listing; with symbolic sizes, the call that shows it.

    An error, such as a mistake in the kernel, is part of the HTML.
    """
    parts = list[Markup]()
    try:
        parts.append(parameter_table(declaration))
        parts.append(_code(declaration, listing))
    except Exception as error:  # noqa: BLE001 - a notebook that shows a kernel does not fail; it shows the error
        parts.append(element("pre", f"{type(error).__name__}: {error}"))
    return notebook(*parts)


def _code(declaration: Declaration, listing: Callable[[], KernelListing]) -> Markup:
    needed = dict.fromkeys((*declaration.dimensions, *declaration.required))
    missing = [name for name in needed if declaration.templates.get(name) is None]
    if missing:
        call = f"{declaration.name}.listing({', '.join(f'{name}=…' for name in missing)})"
        return element("p", f"{call} shows Python, PTX and SASS")
    from pyptx_dsl.inspect.columns import columns

    return columns(listing())
