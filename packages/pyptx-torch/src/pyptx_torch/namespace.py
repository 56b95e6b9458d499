"""`torch.ops.pyptx`, in which an operator lives as long as its kernel or a graph that uses it.

torch's own namespaces keep every operator that was looked up alive until exit, and with it the operator's kernel and
its template values. This namespace holds weak references; `operators.Operator` keeps an operator alive.
"""

from __future__ import annotations

import weakref
from typing import Final

import torch

from pyptx_torch.internals import Namespace

NAME: Final = "pyptx"


def _install() -> Namespace:
    """Install the namespace as `torch.ops.pyptx`."""
    made = Namespace(NAME)
    made.packets = weakref.WeakValueDictionary()
    setattr(torch.ops, NAME, made)
    return made


NAMESPACE: Final = _install()
