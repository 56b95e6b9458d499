"""`ptx.mbarrier`: barriers in shared memory that count arrivals and bytes (from sm_80).

Manual: "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.emission import emits
from pyptx_dsl.instructions.instruction_forms import InstructionForms
from pyptx_dsl.instructions.mbarrier_arrivals import Arrivals
from pyptx_dsl.instructions.stage_addresses import BYTES, SHIFTED, emit_address, steps_of
from pyptx_dsl.instructions.wait_forms import SPACE, FormName, Place, Waiting, WaitOptions, poll_words, spelled
from pyptx_dsl.registers.operands import AddressOperand, PipeRef, as_integer
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


class Mbarrier(Arrivals):
    """Barrier objects; each method emits one instruction unless it says otherwise.

    `mbar` is a barrier of `smem.mbarrier`, `ptx.addr(…)`, or a 32-bit register with its shared address.
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
        """Emit `mbarrier.init{.layout}.shared::cta.b64 [mbar], count;`: a phase ends after `count` arrivals.

        `layout` is `v0` or `v1` (PTX 9.3, sm_90).
        """
        active("ptx.mbarrier.init").emit(_INIT.words(layout=layout, space=space), (as_address(mbar), count), pred)

    def inval(self, mbar: object, *, space: str | None = SPACE, pred: Reg | None = None) -> None:
        """Emit `mbarrier.inval.shared::cta.b64 [mbar];`: the memory is free for other use."""
        active("ptx.mbarrier.inval").emit(_INVAL.words(space=space), (as_address(mbar),), pred)

    def check_layout(self, mbar: object, layout: str, *, space: str | None = SPACE, pred: Reg | None = None) -> Reg:
        """Emit `mbarrier.check_layout.layout.shared::cta.b64 p, [mbar];` and return `p` (PTX 9.3, sm_90)."""
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

    @emits(phase="parity state", q="|", suspend_time_hint="time_hint")
    def test_wait(
        self,
        mbar: object,
        phase: object,
        *,
        parity: bool = True,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        phases: str | None = None,
        report: Reg | None = None,
        q: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.test_wait{.parity}{.sem.scope}.shared::cta.b64 p, [mbar], phase;` and return `p`.

        `p` tells, at once, whether the phase has ended. `phase` is its parity, or with `parity=False` the state that
        `arrive` returned. `sem` (`acquire`, `relaxed`) and `scope` (`cta`, `cluster`) go together. `space` is
        `shared::cta`, `shared`, or None for a generic address.

        `phases` (PTX 9.3) is `primary`, where a register `report` (b8) gets what is told of invalid bytes and the
        predicate `q` whether there were such, or `conditional`.
        """
        modifiers = {"parity": parity, "sem": sem, "scope": scope, "space": space, "phases": phases}
        return _wait("test_wait", (mbar, phase), (q, report), pred, **modifiers)

    @emits(phase="parity state", q="|", suspend_time_hint="time_hint")
    def try_wait(
        self,
        mbar: object,
        phase: object,
        *,
        parity: bool = True,
        sem: str | None = None,
        scope: str | None = None,
        space: str | None = SPACE,
        suspend_time_hint: object | None = None,
        phases: str | None = None,
        report: Reg | None = None,
        q: Reg | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.try_wait{.parity}{.sem.scope}.shared::cta.b64 p, [mbar], phase{, hint};`.

        From sm_90. The thread may be suspended for a while (about `suspend_time_hint` nanoseconds). The register `p` is
        returned; it tells whether the phase has ended, and may be false although it has. The other arguments are those
        of `test_wait`.
        """
        modifiers = {"parity": parity, "sem": sem, "scope": scope, "space": space, "phases": phases}
        return _wait("try_wait", (mbar, phase, suspend_time_hint), (q, report), pred, **modifiers)

    def wait(
        self,
        mbar: object,
        phase: object,
        *,
        form: FormName = "retry",
        poll: str = "try_wait",
        sem: str | None = None,
        scope: str | None = None,
        parity: bool = True,
        space: str | None = SPACE,
        suspend_time_hint: object | None = None,
        uniform: bool = False,
        label: str | None = None,
        past_label: str | None = None,
        done: Reg | str | None = None,
        result: Reg | None = None,
        failed: Reg | None = None,
        nanoseconds: object = 20,
        selp: str = "selp.b32",
        setp: str = "setp.eq.s32",
        loc: Place | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Wait for the end of a phase, by two instructions in a loop: `try_wait.parity`, and `@!p bra` back.

        `poll="test_wait"` polls with what sm_80 has. `sem`, `scope`, `parity` and `suspend_time_hint` are those of
        `try_wait`; `space` is `shared::cta`, `shared`, or None for generic addresses. With `pred` one more `bra` lets
        the other threads pass.

        `form` writes it as libraries do (`L` is `label`, `D` `past_label`, `p` `done`):

        - `retry`: `L: poll; @!p bra L;`
        - `done`: `L: poll; @p bra D; bra L; D:`
        - `scoped`, `scoped_done`: the same between braces, with `.reg .pred p;` (CUTLASS, CuTe, Mosaic, Triton)
        - `backoff`: `scoped`, and `@!p nanosleep.u32 nanoseconds;` behind the poll (Triton before sm_90)
        - `skip`: `{ @!pred bra D; .reg .pred p; L: poll; @!p bra L; D: }` (Triton with a predicate)
        - `poll`: `{ .reg .pred p; poll; selp.b32 result, 1, 0, p; }`, once (cuda::ptx)
        - `poll_retry`: `L: { …the same… } setp.eq.s32 failed, result, 0; @failed bra L;`

        `uniform` makes the branches `bra.uni`; `selp` and `setp` spell those instructions. `done` is a register, or
        between braces the name of the predicate that is declared there. Raise OperandError for what a form has not.

        `mbar` and `phase` may be functions, which emit what computes them behind `L`, in each turn. `loc` is what
        `ptx.loc` takes: line `n` of the form has a `.loc` that is `n` lines further, if it is a label or has no guard
        (Triton, with line numbers).
        """
        trace = active("ptx.mbarrier.wait")
        words = poll_words(poll, parity=parity, sem=sem, scope=scope, space=space)
        hint = () if suspend_time_hint is None else (suspend_time_hint,)
        barrier = mbar if callable(mbar) else as_address(mbar)
        Waiting(
            *(trace, words, (barrier, phase, *hint), pred, uniform, label, past_label, done, result, failed),
            *(nanoseconds, spelled("selp", selp), spelled("setp", setp), loc),
        ).write(form)

    def array(self, base: object, byte_offset: int, count: int) -> BarrierArray:
        """Return `count` barriers of 8 bytes behind `base` (a register or a symbol) `+ byte_offset`; emit nothing."""
        return BarrierArray(base, byte_offset, count)

    def ring(
        self,
        base: object = None,
        byte_offset: int = 0,
        *,
        address: str = SHIFTED,
        **options: Unpack[WaitOptions],
    ) -> BarrierRing:
        """Return the barriers of a ring of stages behind `base + byte_offset`, 8 bytes for each; emit nothing.

        `address` is how the one of a stage is found, as opcodes: `"shl.b32 mov.u32 add.s32 add.s32"` shifts the stage,
        moves the base to a register, and adds it and then the offset. `options` are those of `wait`, and hold for
        each wait for one of them.
        """
        return BarrierRing(base, byte_offset, steps_of(address), options)


def _wait(
    kind: str,
    operands: tuple[object, ...],
    more: tuple[Reg | None, Reg | None],
    guard: Reg | None,
    **modifiers: str | bool | None,
) -> Reg:
    trace = active(f"ptx.mbarrier.{kind}")
    words = poll_words(kind, **modifiers)
    q, report = more
    done = trace.fresh(predicate)
    results = (done if q is None else PipeRef(done, q), *(() if report is None else (report,)))
    mbar, *phase = operands
    trace.emit(words, (*results, as_address(mbar), *(each for each in phase if each is not None)), guard)
    return done


def _unbracketed(address: AddressOperand, trace: Trace) -> tree.Operand:
    """Return `symbol+offset` for `[symbol+offset]`."""
    operand = address.__ptx_operand__(trace)
    if not isinstance(operand, tree.Address) or operand.offset is None:
        return operand.base if isinstance(operand, tree.Address) else operand
    return tree.Binary("+", operand.base, operand.offset)


class BarrierSlot:
    """One barrier of an array: an address, and the operations on it."""

    __slots__ = ("_base", "_options", "byte_offset")

    def __init__(self, base: object, byte_offset: int, options: WaitOptions | None = None) -> None:
        """Point `byte_offset` bytes behind a register or symbol; `options` hold for each `wait` that has no others."""
        self._base = base
        self._options: WaitOptions = {} if options is None else options
        self.byte_offset = byte_offset

    def address_operand(self) -> AddressOperand:
        """Return the address operand; nothing is emitted."""
        return AddressOperand(self._base, self.byte_offset or None)

    def addr_reg(self) -> Reg:
        """Return the address in a register: the base itself, or by one `mov` or `add`."""
        if isinstance(self._base, Reg):
            return self._base + self.byte_offset if self.byte_offset else self._base
        trace = active("addr_reg")
        address = trace.fresh(u32)
        trace.emit(("mov", "u32"), (address, _unbracketed(self.address_operand(), trace)))
        return address

    def __ptx_operand__(self, trace: Trace) -> tree.Operand:
        """Return the address without brackets."""
        return _unbracketed(self.address_operand(), trace)

    def init(self, count: object, *, pred: Reg | None = None) -> None:
        """Emit `mbarrier.init`."""
        mbarrier.init(self.address_operand(), count, pred=pred)

    def wait(self, phase: object, *, pred: Reg | None = None, **options: Unpack[WaitOptions]) -> None:
        """Wait for the end of a phase: `try_wait` and `bra` in a loop, or another form of `ptx.mbarrier.wait`."""
        said: WaitOptions = {**self._options, **options}
        mbarrier.wait(self.address_operand(), phase, pred=pred, **said)

    def arrive(self, *, pred: Reg | None = None) -> Reg:
        """Emit `mbarrier.arrive` and return the state."""
        return mbarrier.arrive(self.address_operand(), pred=pred)

    def arrive_expect_tx(self, tx_count: object, *, pred: Reg | None = None) -> Reg:
        """Emit `mbarrier.arrive.expect_tx` and return the state."""
        return mbarrier.arrive_expect_tx(self.address_operand(), tx_count, pred=pred)

    def arrive_remote(self, cta_id: object, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at this barrier of another block of the cluster, by two instructions (and `addr_reg`).

        `mapa.shared::cluster.u32 r, addr, cta_id;` and `mbarrier.arrive.release.cluster.shared::cluster.b64 _, [r],
        count;` (sm_90).
        """
        trace = active("arrive_remote")
        here, remote = self.addr_reg(), trace.fresh(u32)
        trace.emit(("mapa", "shared::cluster", "u32"), (remote, here, cta_id), pred)
        words = ("mbarrier", "arrive", "release", "cluster", "shared::cluster", "b64")
        trace.emit(words, (tree.Sink(), AddressOperand(remote), count), pred)


class BarrierArray:
    """`count` barriers in a row; `[i]` is one of them, `.at(register)` one chosen on the GPU."""

    __slots__ = ("_base", "_byte_offset", "_count")

    def __init__(self, base: object, byte_offset: int, count: int) -> None:
        """Describe barriers behind `base + byte_offset`."""
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
                f"barrier {idx!r}: there are {self._count}", hint="use .at(register) for a stage in a register"
            )
        return BarrierSlot(self._base, self._byte_offset + number * BYTES)

    def at(self, stage: Reg) -> BarrierSlot:
        """Return the barrier of a stage in a register, by one `mad` (and one `mov` if the base is a symbol)."""
        base = BarrierSlot(self._base, 0).addr_reg()
        trace = active("at")
        address = trace.fresh(u32)
        trace.emit(("mad", "lo", "u32"), (address, stage, BYTES, base))
        return BarrierSlot(address, self._byte_offset)

    def init_all(self, count: object, *, pred: Reg | None = None) -> None:
        """Emit one `mbarrier.init` for each barrier."""
        for slot in self:
            slot.init(count, pred=pred)

    def arrive_remote_all(self, cta_id: object, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at each barrier in another block of the cluster, by two instructions (and `addr_reg`) each."""
        for slot in self:
            slot.arrive_remote(cta_id, count, pred=pred)


@dataclass(frozen=True, slots=True)
class BarrierRing:
    """The barriers of a ring of stages; `.at(register)` is the one of a stage, and says where it lies by `steps`."""

    base: object
    byte_offset: int
    steps: tuple[tuple[str, ...], ...]
    options: WaitOptions

    def at(self, stage: Reg, *, base: object = None, temps: Sequence[Reg] | None = None) -> BarrierSlot:
        """Return the barrier of a stage, by one instruction for each step.

        `base` is another one than the ring's, `temps` the registers that the steps write, one each, instead of new
        ones. Raise OperandError for another number of them, and without a base.
        """
        start = self.base if base is None else base
        if start is None:
            raise OperandError("where does the ring begin?", hint="say base=, here or in ptx.mbarrier.ring")
        if temps is not None and len(temps) != len(self.steps):
            raise OperandError(f"{len(temps)} registers for {len(self.steps)} steps", hint="each step writes one")
        address = emit_address(active("at"), self.steps, start, stage, self.byte_offset, temps)
        return BarrierSlot(*address, self.options)


mbarrier = Mbarrier()
