"""Types of the instructions that architecture packages add to `ptx.inst`. Never run.

`assert_type` fails if a type changes; a `# type: ignore[code]` fails if mypy no longer reports that error.
"""

from __future__ import annotations

from typing import assert_type

from pyptx import ptx, reg
from pyptx.types import b64, u32
from pyptx_dsl.registers.operands import PipeRef
from pyptx_dsl.registers.register import Reg


def opcodes(address: Reg) -> None:
    """An opcode of a package is typed up to its last modifier."""
    assert_type(ptx.inst.wgmma.fence.sync.aligned(), None)
    assert_type(ptx.inst.elect.sync(PipeRef(address, address), -1), None)
    assert_type(ptx.inst.tcgen05.wait__ld.sync.aligned(), None)
    ptx.inst.wgmma.fense  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # noqa: B018  a typo


def words_among_others(address: Reg) -> None:
    """A package's modifier after an opcode of the core is typed, and so are the core's own modifiers of that opcode."""
    value = reg.scalar(u32)
    assert_type(ptx.inst.cp.async_.bulk.commit_group(), None)
    assert_type(ptx.inst.cp.async_.commit_group(), None)
    assert_type(ptx.inst.fence.proxy.async_(), None)
    assert_type(ptx.inst.st.bulk(ptx.addr(address), 64, 0), None)
    assert_type(ptx.inst.st.b32(ptx.addr(address), value), None)
    assert_type(ptx.inst.mapa.u64(reg.scalar(b64), address, value), Reg)
    ptx.inst.fence.proxy.async_(value)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  it has no operands
    ptx.inst.cp.async_.bulk.commit_grup()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
    ptx.inst.cp.async_.bulc()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  a typo
