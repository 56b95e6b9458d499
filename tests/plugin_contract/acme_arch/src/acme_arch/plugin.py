"""Plugin of acme_1: a target, instructions, their namespace, and their semantics.

At import, it needs only pyptx_ir and the standard library; hooks import the DSL and NumPy if needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.isa.rows import InstructionRow, ptx, row
from pyptx_ir.isa.target_rows import TargetRow
from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyptx_ir.isa.check_rows import CheckCode, CheckRule
    from pyptx_ir.isa.kinds.kind import Kind
    from pyptx_ir.isa.matrix_rows import Element, MatrixMove
    from pyptx_ir.isa.memory_rows import Memory
    from pyptx_ir.plugins import LaunchAttribute, Semantics, SugarRule
    from pyptx_ir.plugins.advice import Advice
    from pyptx_ir.plugins.descriptor_rows import DescriptorKind
    from pyptx_ir.plugins.rows import Fragments, SimulatorExtension

ACME_1 = TargetRow("acme_1", 1, since=ptx(8, 0), extends=("sm_90",), shared_optin=64 * 1024)

DOT = row(
    "acme.dot.shape.f32.tf32 d, a, b",
    shape=("m32n8k8",),
    operands={"d": "fragment(mn f32)", "a": "fragment(mk tf32)", "b": "fragment(kn tf32)"},
    since=ptx(8, 0),
    targets=("acme_1",),
    manual="acme.dot",
)
PAIR = row(
    "acme.pair.shape.f32.a12.f16 d, a, b",
    shape=("m32n8k8",),
    operands={"d": "fragment(mn f32 over 2 warps)", "a": "fragment(mk a12 over 2 warps)", "b": "fragment(kn f16)"},
    since=ptx(8, 0),
    targets=("acme_1",),
    manual="acme.pair",
)
TILES = row(
    "ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type d, [a]",
    shape=("m8n4",),
    num=("x1", "x2", "x4"),
    ss=("shared", "shared::cta"),
    type=("b32",),
    lengths={"num": (1, 2, 4)},
    operands={"d": "fragment(num b32)"},
    since=ptx(8, 0),
    targets=("acme_1",),
    manual="ldmatrix",
)
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
    row(
        "acme.put.b32 [a], b",
        operands={"a": "vault"},
        access="wr",
        since=ptx(8, 0),
        targets=("acme_1",),
        manual="acme.put",
    ),
    row("acme.get.b32 d, [a]", operands={"a": "vault"}, since=ptx(8, 0), targets=("acme_1",), manual="acme.get"),
)
BLENDER = (
    row(
        "acme.blend{.order}.b32 [d], [a], [b]",
        order=("columns",),
        operands=dict.fromkeys("dab", "vault"),
        access="wrr",
        since=ptx(8, 0),
        targets=("acme_1",),
        manual="acme.blend",
    ),
    row("acme.commit.shared.b64 [bar]", access="x", since=ptx(8, 0), targets=("acme_1",), manual="acme.commit"),
    row("acme.wait", since=ptx(8, 0), targets=("acme_1",), manual="acme.wait"),
    row("acme.fence", since=ptx(8, 0), targets=("acme_1",), manual="acme.fence"),
    row(
        "acme.shuffle.b32 [d], [a], [r]",
        operands=dict.fromkeys("dar", "vault"),
        access="wrr",
        since=ptx(8, 0),
        targets=("acme_1",),
        manual="acme.shuffle",
    ),
    row("acme.publish", since=ptx(8, 0), targets=("acme_1",), manual="acme.publish"),
    row(
        "acme.consult.b32 [r]",
        operands={"r": "vault"},
        access="r",
        since=ptx(8, 0),
        targets=("acme_1",),
        manual="acme.consult",
    ),
)


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the hooks that this plugin implements."""
    return API_VERSION


@hookimpl
def pyptx_targets() -> Sequence[TargetRow]:
    """Return the target acme_1."""
    return (ACME_1,)


@hookimpl
def pyptx_instructions() -> Sequence[InstructionRow]:
    """Return acme.frob, the MMA instructions, a form of ldmatrix, and the instructions of the vault and the blender."""
    return (FROB, DOT, PAIR, TILES, *VAULT, *BLENDER)


@hookimpl
def pyptx_operand_kinds() -> Sequence[Kind]:
    """Return the operand kind of addresses in the vault."""
    from acme_arch.kinds import VAULT as KIND

    return (KIND,)


@hookimpl
def pyptx_elements() -> Sequence[Element]:
    """Return the element type of acme.pair."""
    from acme_arch.fragments import A12

    return (A12,)


@hookimpl
def pyptx_fragments() -> Sequence[Fragments]:
    """Return the fragments of acme.dot and acme.pair."""
    from acme_arch.fragments import FRAGMENTS

    return FRAGMENTS


@hookimpl
def pyptx_matrix_moves() -> Sequence[MatrixMove]:
    """Return the layout of ldmatrix for tiles of 8 x 4 words."""
    from acme_arch.fragments import MOVES

    return MOVES


@hookimpl
def pyptx_check_codes() -> Sequence[CheckCode]:
    """Return the code of findings about vault lines."""
    from acme_arch.checks import CODES

    return CODES


@hookimpl
def pyptx_check_rules() -> Sequence[CheckRule]:
    """Return the check rules that report findings about vault lines."""
    from acme_arch.checks import RULES

    return RULES


@hookimpl
def pyptx_namespaces() -> Mapping[str, object]:
    """Return the namespace `ptx.acme`."""
    from acme_arch.namespace import Acme

    return {"acme": Acme()}


@hookimpl
def pyptx_memories() -> Sequence[Memory]:
    """Return the vault: 4 KiB per CTA of acme_1, with integer addresses."""
    from pyptx_ir.isa.memory_rows import Memory

    help = "keep less of it at a time"
    return (Memory("vault", "vault", lambda row: 4096 if row is ACME_1 else 0, alignment=64, help=help),)


@hookimpl
def pyptx_descriptors() -> Sequence[DescriptorKind]:
    """Return the descriptor kind of slices: address and length of an array."""
    from acme_arch.descriptors import SLICE

    return (SLICE,)


@hookimpl
def pyptx_semantics() -> Sequence[Semantics]:
    """Return the semantics of acme.frob."""
    from acme_arch.semantics import frob
    from pyptx_ir.plugins import Semantics

    return (Semantics("acme.frob", compute=frob),)


@hookimpl
def pyptx_simulator_extensions() -> Sequence[SimulatorExtension]:
    """Return the simulator extension with the vault and the blender."""
    from pyptx_ir.plugins.rows import SimulatorExtension

    def load() -> object:
        from acme_arch.sim.extension import EXTENSION

        return EXTENSION

    return (SimulatorExtension("acme", load),)


@hookimpl
def pyptx_launch_attributes() -> Sequence[LaunchAttribute]:
    """Return the launch attribute `acme_zeal`."""
    from pyptx_ir.plugins import LaunchAttribute

    return (LaunchAttribute("acme_zeal", 63, "choice", "how hard to frob", choices=("little", "much")),)


@hookimpl
def pyptx_advice() -> Sequence[Advice]:
    """Return the advice for messages of ptxas about acme.frob."""
    from acme_arch.advice import ADVICE

    return ADVICE


@hookimpl
def pyptx_sugar_rules() -> Sequence[SugarRule]:
    """Return the transpiler rule for acme.frob."""
    from acme_arch.sugar import FROBS

    return (FROBS,)
