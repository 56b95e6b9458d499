"""`torch.ops.pyptx`, in which an operator lives as long as its kernel or a graph that holds it.

torch keeps what was once looked up in a namespace for ever, and with it (through our operators) the kernels and all
that they hold. This one only remembers; what keeps an operator alive is `operators.Operator`.
"""

from __future__ import annotations

import weakref
from typing import Final

import torch

from pyptx_torch.internals import Namespace

NAME: Final = "pyptx"


def _install() -> Namespace:
    """Put the namespace into `torch.ops`."""
    made = Namespace(NAME)
    made.packets = weakref.WeakValueDictionary()
    setattr(torch.ops, NAME, made)
    return made


NAMESPACE: Final = _install()
