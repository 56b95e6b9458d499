"""`ptx.mbarrier`: objects in shared memory that count arrivals and bytes (from sm_80).

Manual: "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Unpack, overload

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.forms.emission import emits
from pyptx_dsl.instructions.forms.instruction_forms import InstructionForms
from pyptx_dsl.instructions.groups.mbarrier_arrivals import Arrivals
from pyptx_dsl.instructions.groups.mbarrier_waits import Waits
from pyptx_dsl.instructions.groups.stage_addresses import BYTES, SHIFTED, emit_address, steps_of
from pyptx_dsl.instructions.groups.stage_advances import USUAL, advance_steps, emit_advance
from pyptx_dsl.instructions.groups.wait_forms import SPACE, WaitOptions
from pyptx_dsl.registers.operands import AddressOperand, as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import pred as predicate
from pyptx_dsl.types import u32
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["BarrierArray", "BarrierRing", "BarrierSlot", "Mbarrier", "mbarrier"]

_INIT = InstructionForms("ptx.mbarrier.init", "mbarrier.init")
_INVAL = InstructionForms("ptx.mbarrier.inval", "mbarrier.inval")
_CHECK_LAYOUT = InstructionForms("ptx.mbarrier.check_layout", "mbarrier.check_layout")
_PENDING = InstructionForms("ptx.mbarrier.pending_count", "mbarrier.pending_count")


class Mbarrier(Arrivals, Waits):
    """Operations on mbarrier objects; each method emits one instruction unless its docstring says otherwise.

    `mbar` is an mbarrier of `smem.mbarrier`, `ptx.addr(…)`, or a 32-bit register with its shared address.
    """

    def init(
        self,
        mbar: object,
        count: object,
        *,
        layout: str | None = None,
        space: str | None = SPACE,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.init{.layout}.shared::cta.b64 [mbar], count;`: set the expected arrival count.

        `layout` is `v0` or `v1` (PTX 9.3, sm_90).
        """
        active("ptx.mbarrier.init").emit(_INIT.words(layout=layout, space=space), (as_address(mbar), count), pred)

    def inval(self, mbar: object, *, space: str | None = SPACE, pred: Reg | None = None) -> None:
        """Emit `mbarrier.inval.shared::cta.b64 [mbar];`: invalidate the mbarrier, so that its memory may be reused."""
        active("ptx.mbarrier.inval").emit(_INVAL.words(space=space), (as_address(mbar),), pred)

    def check_layout(self, mbar: object, layout: str, *, space: str | None = SPACE, pred: Reg | None = None) -> Reg:
        """Emit `mbarrier.check_layout.layout.shared::cta.b64 p, [mbar];` (PTX 9.3, sm_90).

        Return the predicate `p`: whether the mbarrier has this layout.
        """
        trace = active("ptx.mbarrier.check_layout")
        words = _CHECK_LAYOUT.words(layout=layout, space=space)
        fits = trace.fresh(predicate)
        trace.emit(words, (fits, as_address(mbar)), pred)
        return fits

    @emits(dst="count")
    def pending_count(
        self, state: Reg, dst: Reg | None = None, *, layout: str | None = None, pred: Reg | None = None
    ) -> Reg:
        """Emit `mbarrier.pending_count{.layout}.b64 count, state;` and return `count` (u32)."""
        trace = active("ptx.mbarrier.pending_count")
        words = _PENDING.words(layout=layout)
        count = trace.fresh(u32) if dst is None else dst
        trace.emit(words, (count, state), pred)
        return count

    def array(self, base: object, byte_offset: int, count: int) -> BarrierArray:
        """Return `count` mbarriers of 8 bytes from `base` (a register or symbol) + `byte_offset` on; emit nothing."""
        return BarrierArray(base, byte_offset, count)

    def ring(
        self,
        base: object = None,
        byte_offset: int = 0,
        *,
        address: str = SHIFTED,
        **options: Unpack[WaitOptions],
    ) -> BarrierRing:
        """Return the mbarriers of a ring of stages, from `base + byte_offset` on, 8 bytes per stage; emit nothing.

        `address` lists the opcodes that compute the address for a stage: `"shl.b32 mov.u32 add.s32 add.s32"` shifts the
        stage, moves the base to a register, adds the base and then the offset. `options` are keywords of `wait`, for
        each wait for one of these mbarriers.
        """
        return BarrierRing(base, byte_offset, steps_of(address), options)

    @overload
    def advance(
        self, stage: Reg, phase: Reg, *, stages: int, steps: str = USUAL, temps: Sequence[Reg] | None = None
    ) -> tuple[Reg, Reg]: ...

    @overload
    def advance(
        self, stage: Reg, *, stages: int, steps: str, temps: Sequence[Reg] | None = None
    ) -> tuple[Reg, None]: ...

    def advance(
        self,
        stage: Reg,
        phase: Reg | None = None,
        *,
        stages: int,
        steps: str = USUAL,
        temps: Sequence[Reg] | None = None,
    ) -> tuple[Reg, Reg | None]:
        """Return the next stage of a ring of `stages`, and its phase parity, which flips after the last stage.

        Emits five instructions, or three without a phase. `steps` are their opcodes, `"add.s32 setp.eq.s32 selp.b32
        selp.u32 xor.b32"`, and `temps` the registers that they write, one per instruction, instead of new ones. Raise
        OperandError for opcodes in another order, and for another number of registers in `temps`.
        """
        opcodes = advance_steps(steps)
        if (phase is None) != all(step[0] != "xor" for step in opcodes):
            raise OperandError("steps must contain an xor if a phase is passed, and only then", help=f"steps={steps!r}")
        _check_temps(temps, opcodes)
        return emit_advance(active("ptx.mbarrier.advance"), opcodes, (stage, phase, stages), temps)


def _check_temps(temps: Sequence[Reg] | None, steps: Sequence[object]) -> None:
    if temps is not None and len(temps) != len(steps):
        raise OperandError(
            f"expected {len(steps)} registers for {len(steps)} steps, got {len(temps)}",
            help="pass one register per step",
        )


def _unbracketed(address: AddressOperand, trace: Trace) -> tree.Operand:
    """Return the operand `symbol+offset` for the address `[symbol+offset]`."""
    operand = address.__ptx_operand__(trace)
    if not isinstance(operand, tree.Address) or operand.offset is None:
        return operand.base if isinstance(operand, tree.Address) else operand
    return tree.Binary("+", operand.base, operand.offset)


class BarrierSlot:
    """One mbarrier of a BarrierArray or BarrierRing: its address, and methods for operations on it."""

    __slots__ = ("_base", "_options", "byte_offset")

    def __init__(self, base: object, byte_offset: int, options: WaitOptions | None = None) -> None:
        """Store the address `base + byte_offset`; `options` are the default keywords of `wait`."""
        self._base = base
        self._options: WaitOptions = {} if options is None else options
        self.byte_offset = byte_offset

    def address_operand(self) -> AddressOperand:
        """Return the mbarrier's address operand `[base+offset]`; nothing is emitted."""
        return AddressOperand(self._base, self.byte_offset or None)

    def addr_reg(self) -> Reg:
        """Return the mbarrier's address in a register: the base itself, or the result of one `mov` or `add`."""
        if isinstance(self._base, Reg):
            return self._base + self.byte_offset if self.byte_offset else self._base
        trace = active("addr_reg")
        address = trace.fresh(u32)
        trace.emit(("mov", "u32"), (address, _unbracketed(self.address_operand(), trace)))
        return address

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the mbarrier's address as an operand without brackets: `symbol+offset`."""
        return _unbracketed(self.address_operand(), trace)

    def init(self, count: object, *, pred: Reg | None = None) -> None:
        """Emit `mbarrier.init` for this mbarrier."""
        mbarrier.init(self.address_operand(), count, pred=pred)

    def wait(self, phase: object, *, pred: Reg | None = None, **options: Unpack[WaitOptions]) -> None:
        """Wait until a phase completes: `try_wait` and `bra` in a loop, or another form of `ptx.mbarrier.wait`."""
        said: WaitOptions = {**self._options, **options}
        mbarrier.wait(self.address_operand(), phase, pred=pred, **said)

    @overload
    def arrive(self, count: object = None, *, state: None = None, pred: Reg | None = None) -> Reg: ...

    @overload
    def arrive(self, count: object = None, *, state: Literal["_"], pred: Reg | None = None) -> None: ...

    def arrive(self, count: object = None, *, state: Literal["_"] | None = None, pred: Reg | None = None) -> Reg | None:
        """Emit `mbarrier.arrive` and return the state; with `state="_"`, discard the state and return None."""
        if state is None:
            return mbarrier.arrive(self.address_operand(), count, pred=pred)
        return mbarrier.arrive_cluster(self.address_operand(), count, space=SPACE, pred=pred)

    @overload
    def arrive_expect_tx(self, tx_count: object, *, state: None = None, pred: Reg | None = None) -> Reg: ...

    @overload
    def arrive_expect_tx(self, tx_count: object, *, state: Literal["_"], pred: Reg | None = None) -> None: ...

    def arrive_expect_tx(
        self, tx_count: object, *, state: Literal["_"] | None = None, pred: Reg | None = None
    ) -> Reg | None:
        """Emit `mbarrier.arrive.expect_tx` and return the state; with `state="_"`, discard it and return None."""
        if state is None:
            return mbarrier.arrive_expect_tx(self.address_operand(), tx_count, pred=pred)
        return mbarrier.arrive_cluster(self.address_operand(), tx_count=tx_count, space=SPACE, pred=pred)

    def arrive_remote(self, cta_id: object, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at this mbarrier in another CTA of the cluster, by two instructions (and `addr_reg`).

        `mapa.shared::cluster.u32 r, addr, cta_id;` and `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r],
        count;` (sm_90).
        """
        trace = active("arrive_remote")
        here, remote = self.addr_reg(), trace.fresh(u32)
        trace.emit(("mapa", "shared::cluster", "u32"), (remote, here, cta_id), pred)
        words = ("mbarrier", "arrive", "release", "cluster", "shared::cluster", "b64")
        trace.emit(words, (tree.Sink(), AddressOperand(remote), count), pred)


class BarrierArray:
    """`count` consecutive mbarriers; `[i]` is mbarrier i, `.at(register)` selects an mbarrier at run time."""

    __slots__ = ("_base", "_byte_offset", "_count")

    def __init__(self, base: object, byte_offset: int, count: int) -> None:
        """Store the address `base + byte_offset` of the first mbarrier, and the number of mbarriers."""
        self._base = base
        self._byte_offset = byte_offset
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[BarrierSlot]:
        return (self[index] for index in range(self._count))

    def __getitem__(self, idx: int) -> BarrierSlot:
        number = as_integer(idx)
        if number is None or not 0 <= number < self._count:
            raise OperandError(
                f"mbarrier index {idx!r} is out of range for an array of size {self._count}",
                help="use .at(register) for a stage in a register",
            )
        return BarrierSlot(self._base, self._byte_offset + number * BYTES)

    def at(self, stage: Reg) -> BarrierSlot:
        """Return the mbarrier for a stage index in a register, by one `mad` (and one `mov` if the base is a symbol)."""
        base = BarrierSlot(self._base, 0).addr_reg()
        trace = active("at")
        address = trace.fresh(u32)
        trace.emit(("mad", "lo", "u32"), (address, stage, BYTES, base))
        return BarrierSlot(address, self._byte_offset)

    def init_all(self, count: object, *, pred: Reg | None = None) -> None:
        """Emit one `mbarrier.init` for each mbarrier of the array."""
        for slot in self:
            slot.init(count, pred=pred)

    def arrive_remote_all(self, cta_id: object, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at each mbarrier in another CTA of the cluster, by two instructions (and `addr_reg`) each."""
        for slot in self:
            slot.arrive_remote(cta_id, count, pred=pred)


@dataclass(frozen=True, slots=True)
class BarrierRing:
    """The mbarriers of a ring of stages; `.at(register)` emits the opcodes `steps`, which compute a stage's address."""

    base: object
    byte_offset: int
    steps: tuple[tuple[str, ...], ...]
    options: WaitOptions

    def at(self, stage: Reg, base: object = None, temps: Sequence[Reg] | None = None) -> BarrierSlot:
        """Return the mbarrier of a stage; emit one instruction per opcode in `steps`.

        `base` replaces the ring's base; `temps` are the registers that the instructions write, instead of new ones.
        Raise OperandError for another number of registers in `temps`, and without a base.
        """
        start = self.base if base is None else base
        if start is None:
            raise OperandError("the mbarrier ring has no base address", help="pass base= to at() or ptx.mbarrier.ring")
        _check_temps(temps, self.steps)
        address = emit_address(active("at"), self.steps, start, stage, self.byte_offset, temps)
        return BarrierSlot(*address, self.options)

    def behind(self, place: Reg, temps: Sequence[Reg] | None = None) -> BarrierSlot:
        """Return the mbarrier at `place + byte_offset`; `place` is the ring's base plus 8 bytes per preceding stage.

        Emits one `add`, the last of the ring's `steps`, into the register in `temps` or a new one; no instruction if
        `steps` do not add the offset. Raise OperandError for another number of registers in `temps`.
        """
        steps = self.steps[-1:] if sum(step[0] == "add" for step in self.steps) > 1 else ()
        _check_temps(temps, steps)
        address = emit_address(active("behind"), steps, None, place, self.byte_offset, temps)
        return BarrierSlot(*address, self.options)


mbarrier = Mbarrier()
