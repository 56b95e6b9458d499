"""What type checkers see of the instructions that architectures' packages add to `ptx.inst`. Never run.

`assert_type` fails where a type changes; an ignore with its code fails where an error is no longer seen.
"""

from __future__ import annotations

from typing import assert_type

from pyptx import ptx, reg
from pyptx.types import b64, u32
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.registers.register import Reg


def opcodes(address: Reg) -> None:
    """An opcode of a package is typed to its last word."""
    assert_type(ptx.inst.wgmma.fence.sync.aligned(), None)
    assert_type(ptx.inst.elect.sync(PipeRef(address, address), -1), None)
    assert_type(ptx.inst.tcgen05.wait__ld.sync.aligned(), None)
    ptx.inst.wgmma.fense  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018  a typo


def words_among_others(address: Reg) -> None:
    """A word of a package behind an opcode of the core is, too, and so are the words beside it."""
    value = reg.scalar(u32)
    assert_type(ptx.inst.cp.async_.bulk.commit_group(), None)
    assert_type(ptx.inst.cp.async_.commit_group(), None)
    assert_type(ptx.inst.fence.proxy.async_(), None)
    assert_type(ptx.inst.st.bulk(ptx.addr(address), 64, 0), None)
    assert_type(ptx.inst.st.b32(ptx.addr(address), value), None)
    assert_type(ptx.inst.mapa.u64(reg.scalar(b64), address, value), Reg)
    ptx.inst.fence.proxy.async_(value)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  no operand
    ptx.inst.cp.async_.bulk.commit_grup()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    ptx.inst.cp.async_.bulc()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
