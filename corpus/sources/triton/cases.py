# SPDX-License-Identifier: Apache-2.0
"""Data to compile one Triton or Gluon kernel without a GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Case:
    """A kernel, the types of its parameters, the values of its constants, and the compiler's options.

    `divisible` are the parameters known to be multiples of 16.
    """

    kernel: Any
    signature: dict[str, str]
    constants: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    divisible: tuple[str, ...] = ()


def descriptor(element: str, *box: int) -> str:
    """Return the type of a tensor map, made by the host, with this box."""
    return f"tensordesc<{element}[{', '.join(map(str, box))}]>"
