"""Generator of the C function that launches the kernel specialization for given sizes, or returns an error code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyptx_bundles.c_interface import in_comment, quoted, spelt
from pyptx_bundles.matching import listed

if TYPE_CHECKING:
    from pyptx_bundles.c_interface import Interface, Selector
    from pyptx_bundles.manifest import BundleEntry

_SHOWN: Final = 8


def dispatch_declaration(interface: Interface) -> str:
    """Return the C declarations of the dispatch function and its struct of sizes; empty for a single specialization."""
    if not interface.dispatched:
        return ""
    name = interface.name
    return "\n".join(
        [
            "",
            f"/* Launches the specialization of {interface.signature.name} that was compiled for these sizes. Returns",
            f"   {interface.upper}_NOT_COMPILED for any other sizes. */",
            f"typedef struct {name}_sizes {{",
            *(f"    {selector.declaration()}{_values(interface, selector)}" for selector in interface.selectors),
            f"}} {name}_sizes;",
            "",
            f"int {name}_dispatch(const {name}_sizes *sizes, const {name}_arguments *arguments,",
            f"{' ' * len(f'int {name}_dispatch(')}struct CUstream_st *stream);",
            "",
        ]
    )


def _values(interface: Interface, selector: Selector) -> str:
    """Return the C comment that lists the values of a struct member for which specializations were compiled."""
    found = [entry.keywords[selector.keyword] for entry in interface.entries]
    values = dict.fromkeys(str(int(value)) if selector.kind == "flag" else f"{value!a}" for value in found)
    shown = ", ".join([*list(values)[:_SHOWN], *(["..."] if len(values) > _SHOWN else [])])
    return f" /* {in_comment(shown)} */"


def dispatch_function(interface: Interface) -> str:
    """Return the C function that selects a specialization by sizes and launches it."""
    if not interface.dispatched:
        return ""
    name, prefix = interface.name, interface.upper
    lines = [
        f"int {name}_dispatch(const {name}_sizes *sizes, const {name}_arguments *arguments,",
        f"{' ' * len(f'int {name}_dispatch(')}struct CUstream_st *stream)",
        "{",
        "    if (sizes == NULL) {",
        f"        return {prefix}_BAD_ARGUMENT;",
        "    }",
        *(line for entry in interface.entries for line in _choice(interface, entry)),
        f"    return {prefix}_NOT_COMPILED;",
        "}",
    ]
    return "\n" + "\n".join(lines) + "\n"


def _choice(interface: Interface, entry: BundleEntry) -> list[str]:
    conditions = [selector.condition("sizes->", entry.keywords[selector.keyword]) for selector in interface.selectors]
    return [
        f"    if ({' && '.join(conditions)}) {{",
        f"        return {entry.name}_launch(arguments, stream);",
        "    }",
    ]


def not_compiled(interface: Interface) -> str:
    """Return the error message for sizes without a specialization, as a C string literal."""
    return quoted(
        f"{interface.signature.name} was not compiled for these sizes; available: {listed(interface.entries)}"
    )


def compiled_for(entry: BundleEntry) -> str:
    """Return the kernel name and the sizes of a specialization for a C comment."""
    sizes = in_comment(spelt(entry.keywords))
    return f"{entry.kernel}{' for ' + sizes if sizes else ''}"
