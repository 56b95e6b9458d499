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

    from pyptx_ir.isa.kinds.kind import Kind
    from pyptx_ir.plugins import LaunchAttribute, Semantics, SugarRule
    from pyptx_ir.plugins.rows import SimulatorExtension

ACME_1 = TargetRow("acme_1", 1, since=ptx(8, 0), extends=("sm_90",), shared_optin=64 * 1024)

FROB = row(
    "acme.frob.b32 d, a",
    since=ptx(8, 0),
    targets=("acme_1",),
    manual="acme.frob",
    summary="Reverse the bits of a word, and add one.",
)


VAULT = (
    row("acme.alloc.b32 d", since=ptx(8, 0), targets=("acme_1",), manual="acme.alloc"),
    row("acme.free.b32 a", access="r", since=ptx(8, 0), targets=("acme_1",), manual="acme.free"),
    row("acme.put.b32 [a], b", operands={"a": "vault"}, access="wr", since=ptx(8, 0), targets=("acme_1",)),
    row("acme.get.b32 d, [a]", operands={"a": "vault"}, since=ptx(8, 0), targets=("acme_1",)),
)
BLENDER = (
    row(
        "acme.blend.b32 [d], [a], [b]",
        operands=dict.fromkeys("dab", "vault"),
        access="wrr",
        since=ptx(8, 0),
        targets=("acme_1",),
    ),
    row("acme.commit.shared.b64 [bar]", access="x", since=ptx(8, 0), targets=("acme_1",)),
    row("acme.wait", since=ptx(8, 0), targets=("acme_1",)),
    row("acme.fence", since=ptx(8, 0), targets=("acme_1",)),
)


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
    """Return acme.frob, and what works in the vault."""
    return (FROB, *VAULT, *BLENDER)


@hookimpl
def pyptx_operand_kinds() -> Sequence[Kind]:
    """Return what an address in the vault is."""
    from acme_arch.kinds import VAULT as KIND

    return (KIND,)


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return `ptx.acme`."""
    from acme_arch.namespace import Acme

    return {"acme": Acme()}


@hookimpl
def pyptx_semantics() -> Sequence[Semantics]:
    """Return what acme.frob computes."""
    from acme_arch.semantics import frob
    from pyptx_ir.plugins import Semantics

    return (Semantics("acme.frob", compute=frob),)


@hookimpl
def pyptx_simulator_extensions() -> Sequence[SimulatorExtension]:
    """Return the vault and the blender."""
    from pyptx_ir.plugins.rows import SimulatorExtension

    def load() -> object:
        from acme_arch.sim.extension import EXTENSION

        return EXTENSION

    return (SimulatorExtension("acme", load),)


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
