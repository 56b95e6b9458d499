"""Selection of a kernel's specialization by the sizes and template values of a call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ContractError, KeywordError
from pyptx_dsl.registers.operands import as_float, as_integer
from pyptx_dsl.types import PtxType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_bundles.manifest import BundleEntry, Plain

_SHOWN = 8


def plain(value: object) -> Plain:
    """Return a keyword value as stored in a manifest: a number, string or bool unchanged, a PTX type as its name."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, PtxType):
        return value.name
    integer = as_integer(value)
    if integer is not None:
        return integer
    number = as_float(value)
    return number if number is not None and math.isfinite(number) else repr(value)


def choose(
    kernel: str, entries: Sequence[BundleEntry], sizes: Mapping[str, int], values: Mapping[str, object]
) -> BundleEntry:
    """Return the specialization for these sizes and template values; an omitted keyword matches any value.

    Raises ContractError if no specialization has the sizes, KeywordError if none has the values, or if several match.
    """
    sized = [entry for entry in entries if all(entry.keywords.get(name) == size for name, size in sizes.items())]
    if not sized:
        raise ContractError(f"{kernel} was not compiled for {_spelt(sizes)}", help=f"available: {listed(entries)}")
    meant = [entry for entry in sized if all(entry.keywords.get(name) == plain(values[name]) for name in values)]
    if not meant:
        raise KeywordError(f"{kernel} was not compiled for {_spelt(values)}", help=f"available: {listed(sized)}")
    if len(meant) > 1:
        raise KeywordError(
            f"{kernel} was compiled {len(meant)} times, and the call matches several specializations",
            help=f"choose a specialization by keywords: {listed(meant)}",
        )
    return meant[0]


def _spelt(keywords: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in keywords.items())


def listed(entries: Sequence[BundleEntry]) -> str:
    """Return the keywords of the first specializations as text, followed by the number of omitted specializations."""
    rows = [f"({_spelt(entry.keywords)})" for entry in entries[:_SHOWN]]
    return "; ".join(rows) + (f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else "")
