"""What can be wrong about a use of the `ptx` namespace itself; each is a TraceError or DslError of `pyptx_dsl.errors`.

DslError
├── TraceError
│   ├── ControlFlowError       `else_` without `if_`, `break_` outside a loop, a condition that never changes, …
│   └── RawTextError           the text of `ptx.raw` is no PTX
├── MissingNamespaceError      `ptx.wgmma` without the package that has it (also AttributeError)
└── UnknownNameError           `ptx.fmaa`: nothing is called so (also AttributeError)
"""

from __future__ import annotations

from pyptx_dsl.errors import DslError, TraceError


class ControlFlowError(TraceError):
    """Blocks, loops and branches that do not fit together."""


class RawTextError(TraceError):
    """Text handed to `ptx.raw` that is no list of PTX statements."""


class MissingNamespaceError(DslError, AttributeError):
    """A namespace that belongs to a package which is not installed."""


class UnknownNameError(DslError, AttributeError):
    """A name that `ptx` has not."""
