"""Directives, and other requirements of declarations: the first PTX version and target of each.

Versions and targets are those of ptxas 13.5, which a test verifies for every row. Rows without a target apply to every
device in the target table. Manual: chapter "Directives", and the sections in the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyptx_ir.isa.rows import ptx

WORD = (1 << 32) - 1  # the largest integer that a directive accepts as its argument
POSITIVE = (1, WORD)


@dataclass(frozen=True, slots=True)
class DirectiveRow:
    """One directive, or one use of it.

    `name` is its text without the dot; the text after a space distinguishes uses. `on` is the kind of function that a
    header directive applies to: `"entry"`, `"func"`, or empty for both. `numbers` is the minimum and maximum number of
    arguments (None: not checked), and `values` the range of each. `before` is the first version that lacks a removed
    directive.
    """

    name: str
    since: tuple[int, int] = (1, 0)
    target: str = ""
    on: str = ""
    numbers: tuple[int, int] | None = None
    values: tuple[int, int] = (0, WORD)
    before: tuple[int, int] | None = None
    manual: str = ""


ROWS: tuple[DirectiveRow, ...] = (
    DirectiveRow("address_size", ptx(2, 3), manual="PTX Module Directives: .address_size"),
    DirectiveRow("alias", ptx(6, 3), manual="Kernel and Function Directives: .alias"),
    # Directives in headers of functions
    DirectiveRow(
        "maxntid",
        ptx(1, 3),
        on="entry",
        numbers=(1, 3),
        values=POSITIVE,
        manual="Performance-Tuning Directives: .maxntid",
    ),
    DirectiveRow(
        "reqntid",
        ptx(2, 1),
        on="entry",
        numbers=(1, 3),
        values=POSITIVE,
        manual="Performance-Tuning Directives: .reqntid",
    ),
    DirectiveRow(
        "minnctapersm",
        ptx(2, 0),
        on="entry",
        numbers=(1, 1),
        values=POSITIVE,
        manual="Performance-Tuning Directives: .minnctapersm",
    ),
    DirectiveRow(
        "maxnctapersm",
        ptx(1, 3),
        on="entry",
        numbers=(1, 1),
        before=ptx(2, 1),
        manual="Performance-Tuning Directives: .maxnctapersm (deprecated)",
    ),
    DirectiveRow(
        "maxnreg",
        ptx(1, 3),
        on="entry",
        numbers=(1, 1),
        values=POSITIVE,
        manual="Performance-Tuning Directives: .maxnreg",
    ),
    DirectiveRow(
        "minperctamemory", ptx(9, 4), "sm_80", on="entry", numbers=(1, 1), manual="Performance-Tuning Directives"
    ),
    DirectiveRow("noreturn", ptx(6, 4), on="func", numbers=(0, 0), manual="Performance-Tuning Directives: .noreturn"),
    DirectiveRow(
        "abi_preserve",
        ptx(9, 0),
        "sm_80",
        on="func",
        numbers=(1, 1),
        values=(0, 239),
        manual="Performance-Tuning Directives: .abi_preserve",
    ),
    DirectiveRow(
        "abi_preserve_control",
        ptx(9, 0),
        "sm_80",
        on="func",
        numbers=(1, 1),
        values=(0, 11),
        manual="Performance-Tuning Directives: .abi_preserve_control",
    ),
    DirectiveRow("pragma", ptx(2, 0), manual="Performance-Tuning Directives: .pragma"),
    DirectiveRow("pragma used_bytes_mask", ptx(8, 3), manual='Pragma Strings: "used_bytes_mask"'),
    DirectiveRow("pragma enable_smem_spilling", ptx(8, 7), manual='Pragma Strings: "enable_smem_spilling"'),
    DirectiveRow("pragma frequency", ptx(9, 0), manual='Pragma Strings: "frequency"'),
    DirectiveRow(
        "reqnctapercluster",
        ptx(7, 8),
        "sm_90",
        on="entry",
        numbers=(1, 3),
        manual="Cluster Dimension Directives: .reqnctapercluster",
    ),
    DirectiveRow(
        "explicitcluster",
        ptx(7, 8),
        "sm_90",
        on="entry",
        numbers=(0, 0),
        manual="Cluster Dimension Directives: .explicitcluster",
    ),
    DirectiveRow(
        "maxclusterrank",
        ptx(7, 8),
        "sm_90",
        on="entry",
        numbers=(1, 1),
        manual="Cluster Dimension Directives: .maxclusterrank",
    ),
    DirectiveRow(
        "blocksareclusters",
        ptx(9, 0),
        "sm_90",
        on="entry",
        numbers=(0, 0),
        manual="Miscellaneous Directives: .blocksareclusters",
    ),
    DirectiveRow("language", ptx(9, 2), manual="Miscellaneous Directives: .language"),
    # Linking directives, and attributes of variables and functions
    DirectiveRow("weak", ptx(3, 1), manual="Linking Directives: .weak"),
    DirectiveRow("common", ptx(5, 0), manual="Linking Directives: .common"),
    DirectiveRow("managed", ptx(4, 0), manual="Variable and Function Attribute Directive: .attribute"),
    DirectiveRow("unified", ptx(8, 0), "sm_90", manual="Variable and Function Attribute Directive: .attribute"),
    # Directives for control flow
    DirectiveRow("branchtargets", ptx(5, 1), manual="Control Flow Directives: .branchtargets"),
    DirectiveRow("calltargets", ptx(2, 1), manual="Control Flow Directives: .calltargets"),
    DirectiveRow("callprototype", ptx(2, 1), manual="Control Flow Directives: .callprototype"),
    # Directives for debugging
    DirectiveRow("section", ptx(2, 0), manual="Debugging Directives: .section"),
    DirectiveRow("file timestamp", ptx(3, 2), manual="Debugging Directives: .file"),
    DirectiveRow("loc inlined_at", ptx(7, 0), manual="Debugging Directives: .loc"),
    # Requirements of parameters and types
    DirectiveRow("ptr", ptx(2, 2), manual="Kernel Parameter Attribute: .ptr"),
    DirectiveRow("param of func", ptx(2, 0), manual="Device Function Parameters"),
    DirectiveRow("param array of unknown size", ptx(5, 1), manual="Variadic Functions"),
    DirectiveRow("entry declaration", ptx(3, 0), manual="Kernel and Function Directives: .entry"),
    DirectiveRow("texref", ptx(1, 5), manual="Texture, Sampler and Surface Types"),
    DirectiveRow("samplerref", ptx(1, 5), manual="Texture, Sampler and Surface Types"),
    DirectiveRow("surfref", ptx(1, 5), manual="Texture, Sampler and Surface Types"),
    DirectiveRow("tex", ptx(1, 0), before=ptx(1, 5), manual="Texture State Space (deprecated)"),
    DirectiveRow("b128", ptx(8, 3), "sm_70", manual="Fundamental Types"),
    DirectiveRow("f16x2", ptx(4, 2), "sm_53", manual="Packed Data Types"),
    # PTX versions of operators in initializers
    DirectiveRow("generic()", ptx(3, 1), manual="Initializers"),
    DirectiveRow("mask()", ptx(7, 1), manual="Initializers"),
)
