"""What acme_1 adds to pyptx: a target, an instruction, its namespace, and what it does.

The top level imports pyptx_ir and the standard library alone; hooks import the DSL and NumPy where they need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.target_rows import TargetRow
from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.plugins import LaunchAttribute, Semantics, SugarRule

ACME_1 = TargetRow("acme_1", 1, since=ptx(8, 0), extends=("sm_90",), shared_optin=64 * 1024)

FROB = row("acme.frob.b32 d, a", since=ptx(8, 0), targets=("acme_1",), manual="acme.frob")


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the hooks that this plugin was written for."""
    return API_VERSION


@hookimpl
def pyptx_targets() -> Sequence[TargetRow]:
    """Return the target acme_1."""
    return (ACME_1,)


@hookimpl
def pyptx_instructions() -> Sequence[InstructionRow]:
    """Return acme.frob."""
    return (FROB,)


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return `ptx.acme`."""
    from acme_arch.namespace import Acme

    return {"acme": Acme()}


@hookimpl
def pyptx_semantics() -> Sequence[Semantics]:
    """Return what acme.frob computes."""
    from acme_arch.semantics import FROB_SEMANTICS

    return (FROB_SEMANTICS,)


@hookimpl
def pyptx_launch_attributes() -> Sequence[LaunchAttribute]:
    """Return the attribute that sets how hard acme_1 frobs."""
    from pyptx_ir.plugins import LaunchAttribute

    return (LaunchAttribute("acme_zeal", 63, "choice", "how hard to frob", choices=("little", "much")),)


@hookimpl
def pyptx_sugar_rules() -> Sequence[SugarRule]:
    """Return how the transpiler says acme.frob."""
    from acme_arch.sugar import FROBS

    return (FROBS,)
