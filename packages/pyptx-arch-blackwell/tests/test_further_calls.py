"""Blackwell's `ptx` calls outside tcgen05 emit instructions that ptxas accepts; other targets raise an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from pyptx_dsl import ptx, reg, smem
from pyptx_dsl.errors import InstructionUseError, OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b32, b128, u32, u64
from pyptx_dsl.types import pred as predicate
from pyptx_ir.isa.targets import includes
from pyptx_ir.toolchain import assemble

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION = (9, 0)  # newest PTX version of ptxas 13.0
TARGETS = ("sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_110a", "sm_120", "sm_120a")
ANY, FAMILIES = ("sm_100",), ("sm_100f", "sm_110f", "sm_120f")


class Bench:
    """Registers and variables for arguments of calls, created inside a trace."""

    def __init__(self) -> None:
        self.bar = smem.mbarrier(1)
        self.answer = smem.alloc(b32, (4,))
        self.response, self.p, self.word = reg.scalar(b128), reg.scalar(predicate), reg.scalar(b32)
        self.address, self.place = reg.scalar(u64), reg.scalar(u32)


class Call(NamedTuple):
    """One call: the emitted instruction, the function, and the targets that support the instruction."""

    emits: str
    run: Callable[[Bench], object]
    needs: tuple[str, ...] = ANY


TRY = "clusterlaunchcontrol.try_cancel.async"
QUERY = "clusterlaunchcontrol.query_cancel"
BYTES = "mbarrier::complete_tx::bytes"
CALLS = (
    Call(
        f"{TRY}.shared::cta.{BYTES}.b128 [smem_0], [mbar_0];",
        lambda b: ptx.clusterlaunchcontrol.try_cancel(b.answer, b.bar),
    ),
    Call(
        f"@%p0 {TRY}.shared::cta.{BYTES}.multicast::cluster::all.b128 [smem_0], [mbar_0];",
        lambda b: ptx.clusterlaunchcontrol.try_cancel(b.answer, b.bar, multicast=True, pred=b.p),
        FAMILIES,
    ),
    Call(
        f"{TRY}.{BYTES}.b128 [%rd0], [%rd0];",
        lambda b: ptx.clusterlaunchcontrol.try_cancel(b.address, b.address, space=None),
    ),
    Call(
        f"{QUERY}.is_canceled.pred.b128 %p1, %rq0;",
        lambda b: ptx.clusterlaunchcontrol.query_cancel.is_canceled(b.response),
    ),
    Call(
        f"{QUERY}.get_first_ctaid.v4.b32.b128 {{%r2, %r3, %r4, _}}, %rq0;",
        lambda b: ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid(b.response),
    ),
    Call(
        f"{QUERY}.get_first_ctaid.v4.b32.b128 {{_, %r0, _, _}}, %rq0;",
        lambda b: ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid(b.response, (None, b.word)),
    ),
    *(
        Call(
            f"{QUERY}.get_first_ctaid::{axis}.b32.b128 %r2, %rq0;",
            lambda b, axis=axis: ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid(b.response, dimension=axis),
        )
        for axis in "xyz"
    ),
    Call("st.bulk.shared::cta [%r1], 16, 0;", lambda b: ptx.st_bulk(b.place, 16)),
    Call("st.bulk.weak [%rd0], %rd0, 0;", lambda b: ptx.st_bulk(b.address, b.address, weak=True, space=None)),
    Call("st.bulk.shared::cta [%r1], %rd0, 0;", lambda b: ptx.st_bulk(b.place, b.address)),
)


def traced(call: Call, target: str) -> str:
    def k() -> None:
        call.run(Bench())
        ptx.ret()

    return kernel(k, arch=target, version=VERSION, block=(32, 1, 1)).ptx()


@pytest.mark.ptxas
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("call", CALLS, ids=[call.emits for call in CALLS])
def test_a_call_emits_its_instruction_where_ptxas_takes_it(call: Call, target: str) -> None:
    if any(includes(target, needed) for needed in call.needs):
        text = traced(call, target)
        assert call.emits in text
        assemble(text, target, options=("-O0",))
        return
    with pytest.raises(InstructionUseError, match=target):
        traced(call, target)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda b: ptx.st_bulk(b.answer, 12), "invalid size of ptx.st_bulk: 12 bytes"),
        (lambda b: ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid(b.response, dimension="w"), "dimension="),
        (lambda b: ptx.clusterlaunchcontrol.query_cancel.get_first_ctaid(b.response, [b.word] * 5), "at most four"),
        (lambda b: ptx.clusterlaunchcontrol.try_cancel(b.answer, b.bar, space="global"), "space="),
    ],
)
def test_what_there_is_not_is_refused_in_words(run: Callable[[Bench], object], said: str) -> None:
    with pytest.raises(OperandError) as caught:
        traced(Call("", run), "sm_100a")
    assert said in str(caught.value.message)
