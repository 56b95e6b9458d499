"""`ptx.mbarrier`: barriers in shared memory that count arrivals and bytes (from sm_80).

Manual: "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from pyptx_dsl.errors import OperandError
from pyptx_dsl.instructions.address import as_address
from pyptx_dsl.instructions.spelling import choice
from pyptx_dsl.instructions.wait_forms import SPACE, FormName, Waiting, WaitOptions, poll_words, spelled
from pyptx_dsl.registers.operands import AddressOperand, as_integer
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import b64, pred, u32
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.tracing.trace import Trace

__all__ = ["BarrierArray", "BarrierSlot", "Mbarrier", "mbarrier"]

_CLUSTER = "shared::cluster"
_BYTES = 8
_ARRIVE = ("release", "relaxed")
_WAIT = ("acquire", "relaxed")
_SCOPES = ("cta", "cluster")


class Mbarrier:
    """Barrier objects; each method emits one instruction unless it says otherwise.

    `mbar` is a barrier of `smem.mbarrier`, `ptx.addr(…)`, or a 32-bit register with its shared address.
    """

    def init(self, mbar: object, count: object, *, pred: Reg | None = None) -> None:
        """Emit `mbarrier.init.shared::cta.b64 [mbar], count;`: a phase ends after `count` arrivals."""
        active("ptx.mbarrier.init").emit(("mbarrier", "init", SPACE, "b64"), (as_address(mbar), count), pred)

    def inval(self, mbar: object, *, pred: Reg | None = None) -> None:
        """Emit `mbarrier.inval.shared::cta.b64 [mbar];`: the memory is free for other use."""
        active("ptx.mbarrier.inval").emit(("mbarrier", "inval", SPACE, "b64"), (as_address(mbar),), pred)

    def arrive(
        self,
        mbar: object,
        count: object | None = None,
        *,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive{.sem.scope}.shared::cta.b64 state, [mbar]{, count};` and return `state` (b64)."""
        return _arrive(("arrive",), mbar, count, _order(sem, scope, _ARRIVE), pred)

    def arrive_drop(
        self,
        mbar: object,
        count: object | None = None,
        *,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive_drop{.sem.scope}.shared::cta.b64 state, [mbar]{, count};`: arrive for the last time."""
        return _arrive(("arrive_drop",), mbar, count, _order(sem, scope, _ARRIVE), pred)

    def arrive_no_complete(
        self, mbar: object, count: object, *, release: bool = False, drop: bool = False, pred: Reg | None = None
    ) -> Reg:
        """Emit `mbarrier.arrive.noComplete{.release.cta}.shared::cta.b64 state, [mbar], count;`, and return `state`.

        It must not end the phase. `drop` makes it `arrive_drop`.
        """
        order = ("release", "cta") if release else ()
        return _arrive(("arrive_drop" if drop else "arrive", "noComplete"), mbar, count, order, pred)

    def arrive_expect_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive.expect_tx{.sem.scope}.shared::cta.b64 state, [mbar], tx_count;`; return `state`."""
        return _arrive(("arrive", "expect_tx"), mbar, tx_count, _order(sem, scope, _ARRIVE), pred)

    def arrive_drop_expect_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.arrive_drop.expect_tx{.sem.scope}.shared::cta.b64 state, [mbar], tx_count;`."""
        return _arrive(("arrive_drop", "expect_tx"), mbar, tx_count, _order(sem, scope, _ARRIVE), pred)

    def arrive_cluster(
        self,
        mbar: object,
        count: object | None = None,
        *,
        tx_count: object | None = None,
        drop: bool = False,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.arrive{.expect_tx}{.sem.scope}.shared::cluster.b64 _, [mbar]{, count};` (sm_90).

        `mbar` is an address in the cluster, as `ptx.cluster.map_shared_u32` returns it; there is no state. With
        `tx_count` it is `arrive.expect_tx`, and there is no `count`; `drop` makes it `arrive_drop`.
        """
        if count is not None and tx_count is not None:
            raise OperandError("mbarrier.arrive.expect_tx arrives once: it takes no count beside tx_count")
        kind = ("arrive_drop" if drop else "arrive", *(() if tx_count is None else ("expect_tx",)))
        number = count if tx_count is None else tx_count
        operands = (tree.Sink(), as_address(mbar), *(() if number is None else (number,)))
        words = ("mbarrier", *kind, *_order(sem, scope, _ARRIVE), _CLUSTER, "b64")
        active("ptx.mbarrier.arrive_cluster").emit(words, operands, pred)

    def expect_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        scope: str = "cta",
        space: str = SPACE,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.expect_tx.relaxed.scope.space.b64 [mbar], tx_count;`: wait for more bytes (sm_90).

        `space="shared::cluster"` is for a barrier of another block.
        """
        active("ptx.mbarrier.expect_tx").emit(_bytes("expect_tx", scope, space), (as_address(mbar), tx_count), pred)

    def complete_tx(
        self,
        mbar: object,
        tx_count: object,
        *,
        scope: str = "cta",
        space: str = SPACE,
        pred: Reg | None = None,
    ) -> None:
        """Emit `mbarrier.complete_tx.relaxed.scope.space.b64 [mbar], tx_count;`: say that bytes have come (sm_90)."""
        active("ptx.mbarrier.complete_tx").emit(_bytes("complete_tx", scope, space), (as_address(mbar), tx_count), pred)

    def pending_count(self, state: Reg, dst: Reg | None = None, *, pred: Reg | None = None) -> Reg:
        """Emit `mbarrier.pending_count.b64 count, state;` and return `count` (u32)."""
        trace = active("ptx.mbarrier.pending_count")
        count = trace.fresh(u32) if dst is None else dst
        trace.emit(("mbarrier", "pending_count", "b64"), (count, state), pred)
        return count

    def test_wait(
        self,
        mbar: object,
        phase: object,
        *,
        parity: bool = True,
        sem: str | None = None,
        scope: str | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.test_wait{.parity}{.sem.scope}.shared::cta.b64 p, [mbar], phase;` and return `p`.

        `p` tells, at once, whether the phase has ended. `phase` is its parity, or with `parity=False` the state that
        `arrive` returned.
        """
        return _wait("test_wait", (as_address(mbar), phase), _order(sem, scope, _WAIT), pred, parity=parity)

    def try_wait(
        self,
        mbar: object,
        phase: object,
        *,
        parity: bool = True,
        sem: str | None = None,
        scope: str | None = None,
        suspend_time_hint: object | None = None,
        pred: Reg | None = None,
    ) -> Reg:
        """Emit `mbarrier.try_wait{.parity}{.sem.scope}.shared::cta.b64 p, [mbar], phase{, hint};`.

        From sm_90. The thread may be suspended for a while (about `suspend_time_hint` nanoseconds). The register `p` is
        returned; it tells whether the phase has ended, and may be false although it has.
        """
        hint = () if suspend_time_hint is None else (suspend_time_hint,)
        return _wait("try_wait", (as_address(mbar), phase, *hint), _order(sem, scope, _WAIT), pred, parity=parity)

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
        """
        trace = active("ptx.mbarrier.wait")
        choice("poll", poll, ("try_wait", "test_wait"))
        words = poll_words(poll, _order(sem, scope, _WAIT), space, parity=parity)
        hint = () if suspend_time_hint is None else (suspend_time_hint,)
        Waiting(
            *(trace, words, (as_address(mbar), phase, *hint), pred, uniform, label, past_label, done, result, failed),
            *(nanoseconds, spelled("selp", selp), spelled("setp", setp)),
        ).write(form)

    def array(self, base: object, byte_offset: int, count: int) -> BarrierArray:
        """Return `count` barriers of 8 bytes behind `base` (a register or a symbol) `+ byte_offset`; emit nothing."""
        return BarrierArray(base, byte_offset, count)


def _order(sem: str | None, scope: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if sem is None and scope is None:
        return ()
    if sem is None or scope is None:
        raise OperandError(f"sem={sem!r} and scope={scope!r} go together", hint=f'sem="{known[0]}", scope="cta"')
    return (choice("sem", sem, known), choice("scope", scope, _SCOPES))


def _bytes(kind: str, scope: str, space: str) -> tuple[str, ...]:
    order = ("relaxed", choice("scope", scope, _SCOPES))
    return ("mbarrier", kind, *order, choice("space", space, (SPACE, _CLUSTER)), "b64")


def _arrive(
    kind: tuple[str, ...], mbar: object, count: object | None, order: tuple[str, ...], guard: Reg | None
) -> Reg:
    trace = active("ptx.mbarrier.arrive")
    state = trace.fresh(b64)
    operands = (state, as_address(mbar)) if count is None else (state, as_address(mbar), count)
    trace.emit(("mbarrier", *kind, *order, SPACE, "b64"), operands, guard)
    return state


def _wait(
    kind: str, operands: tuple[object, ...], order: tuple[str, ...], guard: Reg | None, *, parity: bool = True
) -> Reg:
    trace = active(f"ptx.mbarrier.{kind}")
    done = trace.fresh(pred)
    words = poll_words(kind, order, SPACE, parity=parity)
    trace.emit(words, (done, *operands), guard)
    return done


def _unbracketed(address: AddressOperand, trace: Trace) -> tree.Operand:
    """Return `symbol+offset` for `[symbol+offset]`."""
    operand = address.__ptx_operand__(trace)
    if not isinstance(operand, tree.Address) or operand.offset is None:
        return operand.base if isinstance(operand, tree.Address) else operand
    return tree.Binary("+", operand.base, operand.offset)


class BarrierSlot:
    """One barrier of an array: an address, and the operations on it."""

    __slots__ = ("_base", "byte_offset")

    def __init__(self, base: object, byte_offset: int) -> None:
        """Point `byte_offset` bytes behind a register or symbol."""
        self._base = base
        self.byte_offset = byte_offset

    def address_operand(self) -> AddressOperand:
        """Return the address operand; nothing is emitted."""
        return AddressOperand(self._base, self.byte_offset)

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
        mbarrier.wait(self.address_operand(), phase, pred=pred, **options)

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
        return BarrierSlot(self._base, self._byte_offset + number * _BYTES)

    def at(self, stage: Reg) -> BarrierSlot:
        """Return the barrier of a stage in a register, by one `mad` (and one `mov` if the base is a symbol)."""
        base = BarrierSlot(self._base, 0).addr_reg()
        trace = active("at")
        address = trace.fresh(u32)
        trace.emit(("mad", "lo", "u32"), (address, stage, _BYTES, base))
        return BarrierSlot(address, self._byte_offset)

    def init_all(self, count: object, *, pred: Reg | None = None) -> None:
        """Emit one `mbarrier.init` for each barrier."""
        for slot in self:
            slot.init(count, pred=pred)

    def arrive_remote_all(self, cta_id: object, count: object = 1, *, pred: Reg | None = None) -> None:
        """Arrive at each barrier in another block of the cluster, by two instructions (and `addr_reg`) each."""
        for slot in self:
            slot.arrive_remote(cta_id, count, pred=pred)


mbarrier = Mbarrier()
