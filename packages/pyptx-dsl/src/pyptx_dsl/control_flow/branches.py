"""Labels, branches, and `if_` / `elif_` / `else_`.

    with ptx.if_(x < 0):            #     @!%p1 bra $L_else_0;
        ...                         #     …
                                    #     bra $L_endif_0;
    with ptx.elif_(x == 0):         # $L_else_0:    (the comparison is emitted here)
        ...                         #     @!%p2 bra $L_else_1;  …  bra $L_endif_0;
    with ptx.else_():               # $L_else_1:
        ...                         #     …
                                    # $L_endif_0:

One branch opens each `if_` and `elif_`. Another branch ends each block before an `elif_` or `else_`, unless the block
already ends in a jump. `label` and `end_label` replace generated labels, `uniform` emits `bra.uni`, and
`define_label=False` leaves the definition of a label to other code. With these options, a kernel can have any branches
that a compiler emits. Manual: "Control Flow Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyptx_dsl.control_flow.frames import LoopFrame
from pyptx_dsl.control_flow.rebinding import Watch
from pyptx_dsl.errors import ControlFlowError, OperandError, RegisterTypeError
from pyptx_dsl.origin import user_frame
from pyptx_dsl.registers.register import Reg
from pyptx_dsl.registers.texts import identifier
from pyptx_dsl.trace_context import active
from pyptx_dsl.tracing.escapes import enter_block
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from types import TracebackType

    from pyptx_dsl.origin import Site
    from pyptx_dsl.tracing.trace import Scope, Trace

__all__ = ["Condition", "bra", "brkpt", "elif_", "else_", "exit_", "if_", "label", "pmevent", "ret", "trap"]

Condition: TypeAlias = Reg | Callable[[], Reg]
"""A predicate register, or a function that emits the computation of a predicate register and returns it."""

_CHAIN = "ptx.control.chain"
_JUMPS = frozenset({"bra", "brx", "exit", "ret"})


# --- single instructions ----------------------------------------------------------------------------


def label(name: str) -> None:
    """Define a label. Raises DuplicateNameError if the innermost `{ }` scope already has the name."""
    active("ptx.label").append(nodes.Label(name=name))


def bra(label: str, *, pred: Reg | None = None, uni: bool = False) -> None:
    """Emit `bra{.uni} label;`.

    An undefined label raises UndefinedLabelError at this line when the trace ends.
    """
    words = ("bra", "uni") if uni else ("bra",)
    active("ptx.bra").emit(words, (tree.Symbol(identifier(label, "a label")),), pred)


def ret(*, uni: bool = False, pred: Reg | None = None) -> None:
    """Emit `ret{.uni};`."""
    active("ptx.ret").emit(("ret", "uni") if uni else ("ret",), (), pred)


def exit_(*, pred: Reg | None = None) -> None:
    """Emit `exit;`: the thread exits."""
    active("ptx.exit").emit(("exit",), (), pred)


def trap(*, pred: Reg | None = None) -> None:
    """Emit `trap;`: the kernel is aborted, and the host gets an error."""
    active("ptx.trap").emit(("trap",), (), pred)


def brkpt(*, pred: Reg | None = None) -> None:
    """Emit `brkpt;`: a debugger stops here."""
    active("ptx.brkpt").emit(("brkpt",), (), pred)


def pmevent(number: int, *, mask: bool = False, pred: Reg | None = None) -> None:
    """Emit `pmevent{.mask} number;`: trigger performance monitor event 0 to 15, or the events in a 16-bit mask."""
    active("ptx.pmevent").emit(("pmevent", "mask") if mask else ("pmevent",), (number,), pred)


# --- conditions -------------------------------------------------------------------------------------


def predicate(value: object, what: str) -> Reg:
    """Return `value` if it is a predicate register or `~p`; else raise RegisterTypeError or OperandError."""
    if isinstance(value, Reg):
        if value.dtype.kind != "pred":
            raise RegisterTypeError(
                f"{what} needs a predicate, got the {value.dtype} register {value.raw_name}",
                help=f"compare the register with 0: {what}(value != 0)",
            )
        return value
    help = "use a plain Python `if` for values known while tracing" if isinstance(value, bool) else "compare registers"
    raise OperandError(f"{what} needs a predicate register, got {value!r}", help=help)


def evaluate(condition: object, what: str) -> Reg:
    """Return the predicate register of a condition; call the condition if it is a function."""
    return predicate(condition() if callable(condition) else condition, what)


def jump(trace: Trace, target: str, guard: Reg | None = None, *, uniform: bool = False) -> None:
    """Emit `bra{.uni} target;`."""
    trace.emit(("bra", "uni") if uniform else ("bra",), (tree.Symbol(identifier(target, "a label")),), guard)


def refuse_unnamed(keyword: str, label: str | None, *, define: bool) -> None:
    """Raise OperandError for argument `keyword`, a label, if it is None although other code must define the label."""
    if label is None and not define:
        raise OperandError("a label that is defined elsewhere needs a name", help=f'pass {keyword}="$L__BB0_2"')


# --- if, elif, else ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BranchLabels:
    """Labels of one `if_`, `elif_` or `else_`, whether the block defines them, and whether branches are `bra.uni`."""

    label: str | None = None
    uniform: bool = False
    define_label: bool = True
    end_label: str | None = None
    end_uniform: bool = False
    define_end: bool = True

    def __post_init__(self) -> None:
        """Raise OperandError for a label that the block does not define and that has no name."""
        refuse_unnamed("label", self.label, define=self.define_label)
        refuse_unnamed("end_label", self.end_label, define=self.define_end)


@dataclass(slots=True)
class Chain:
    """State shared by the blocks of one `if_ … elif_ … else_` chain.

    `index` is the position, in `scope`, of the target label of the last block's false condition. `length` is the number
    of statements in the scope when that block ended. `end`: the label after the chain, if a block needs it; `named`:
    whether a call has named `end`; `defines_end`: whether the chain defines it. `complete`: an `else_` has ended.
    """

    scope: Scope
    index: int = -1
    skip: nodes.Statement | None = None
    end: str | None = None
    end_place: tuple[nodes.Statement, Site] | None = None
    named: bool = False
    defines_end: bool = True
    length: int = 0
    complete: bool = False


class Arm:
    """Context manager of one `if_`, `elif_` or `else_` block; `condition` is None for `else_`."""

    __slots__ = ("_chain", "_condition", "_frames", "_labels", "_promise", "_skip", "_trace", "_watch", "_what")

    def __init__(self, trace: Trace, what: str, chain: Chain | None, condition: object, labels: BranchLabels) -> None:
        """Store the options of the `if_` (`elif_`, `else_`) block; nothing is emitted before the `with` is entered."""
        self._trace = trace
        self._what = what
        self._chain = chain
        self._condition = condition
        self._labels = labels
        self._promise = trace.promise(what)
        self._skip = ""
        self._frames: list[LoopFrame] = []
        self._watch: Watch | None = None

    def __enter__(self) -> str:
        """End the preceding block, and branch around this block if its condition is false.

        Returns the label after the whole `if_` chain, which is defined if a `break_` branches to it.
        """
        trace = self._trace
        enter_block(trace, self._promise)
        trace.notes.pop(_CHAIN, None)
        if self._chain is not None:
            _leave(trace, self._chain, self._labels)
        else:
            self._chain = Chain(trace.open_scope)
            _name_end(self._chain, self._labels)
        end = self._chain.end or trace.new_label("done")
        self._watch = Watch(trace, self._what, repeats=False, skipped=True)
        if self._condition is not None:
            guard = evaluate(self._condition, self._what)
            self._skip = self._labels.label or trace.new_label("else")
            jump(trace, self._skip, ~guard, uniform=self._labels.uniform)
            self._open(self._skip)
        self._open(end)
        return end

    def _open(self, behind: str) -> None:
        """Record the labels after the `if_` block as targets of `break_`."""
        self._frames.append(LoopFrame(self._trace, behind, label=behind, is_block=True))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Define the block's label for a false condition and, if needed, the label after the `if_` chain."""
        chain, trace, watch = self._chain, self._trace, self._watch
        self._watch = None
        for frame in reversed(self._frames):
            frame.close()
        if kind is not None or chain is None or watch is None:
            return
        watch.close()
        chain.skip = None
        if self._frames[-1].left:
            chain.end = self._frames[-1].end
        if self._condition is not None and self._labels.define_label and self._skip != chain.end:
            trace.append(nodes.Label(name=self._skip))
            chain.index = len(chain.scope.nodes) - 1
            node = chain.scope.nodes[-1]
            chain.skip = node if isinstance(node, nodes.Label) else None
        if chain.end is not None and chain.defines_end:
            _place_end(trace, chain, chain.end)
        chain.length = len(chain.scope.nodes)
        chain.complete = self._condition is None
        trace.notes[_CHAIN] = chain


def if_(
    pred: Condition,
    *,
    label: str | None = None,
    uniform: bool = False,
    define_label: bool = True,
    end_label: str | None = None,
    define_end: bool = True,
) -> Arm:
    """Run a block where `pred` is true: `with ptx.if_(x < 8): …`.

    Emits one instruction, `@!pred bra` to the label after the block. `pred` is a predicate register, `~p`, or a
    function that returns one. `label` names that label; with `define_label=False` it is defined elsewhere, such as a
    shared end of several blocks, and `else_` cannot follow. `uniform` emits `bra.uni`. `end_label` names the label
    after the whole chain of blocks, to which `break_` branches from each of them; with `define_end=False` other code
    defines the label.

    Raises RegisterTypeError for any other register, and ControlFlowError for a name that the block rebinds and that is
    read after it.
    """
    trace = active("ptx.if_")
    if not callable(pred):
        predicate(pred, "ptx.if_")
    labels = BranchLabels(label, uniform, define_label, end_label, define_end=define_end)
    return Arm(trace, "ptx.if_", None, pred, labels)


def elif_(
    pred: Condition,
    *,
    label: str | None = None,
    uniform: bool = False,
    define_label: bool = True,
    end_label: str | None = None,
    end_uniform: bool = False,
    define_end: bool = True,
) -> Arm:
    """Run a block where `pred` is true and the preceding conditions were false; must follow `if_` or `elif_`.

    Emits two instructions: a `bra` that ends the preceding block (none if it ends in a jump), and `@!pred bra`. The
    computation of `pred` inside the call's parentheses runs only if the preceding conditions were false. `label`,
    `uniform` and `define_label` are those of `if_`; `end_label`, `end_uniform` and `define_end` those of `else_`. The
    last `elif_` emits no label of its own if its `label` names the label after the chain.
    """
    trace = active("ptx.elif_")
    chain = _pending(trace, "elif_")
    if not callable(pred):
        _refuse_between(chain)
        predicate(pred, "ptx.elif_")
    elif len(chain.scope.nodes) != chain.length:
        raise _misplaced("elif_")
    labels = BranchLabels(label, uniform, define_label, end_label, end_uniform, define_end)
    return Arm(trace, "ptx.elif_", chain, pred, labels)


def else_(*, end_label: str | None = None, end_uniform: bool = False, define_end: bool = True) -> Arm:
    """Run a block where the conditions of the preceding `if_` and `elif_` were false.

    Emits one instruction, the `bra` that ends the preceding block (none if it ends in a jump). `end_label` names its
    target, the label after the chain; with `define_end=False` it is defined elsewhere. `end_uniform` emits `bra.uni`.
    Raises ControlFlowError unless an `if_` or `elif_` block directly precedes, or if `end_label` is not the chain's.
    """
    trace = active("ptx.else_")
    chain = _pending(trace, "else_")
    if len(chain.scope.nodes) != chain.length:
        raise _misplaced("else_")
    labels = BranchLabels(end_label=end_label, end_uniform=end_uniform, define_end=define_end)
    return Arm(trace, "ptx.else_", chain, None, labels)


def _pending(trace: Trace, what: str) -> Chain:
    """Return the chain of `if_` blocks whose last block has just ended; else raise ControlFlowError."""
    chain = trace.notes.get(_CHAIN)
    if not isinstance(chain, Chain) or chain.complete or chain.scope is not trace.open_scope:
        raise ControlFlowError(
            f"ptx.{what} without ptx.if_: the previous statement is not a block of if_ or elif_",
            help=f"write `with ptx.{what}(…):` directly after the block of `with ptx.if_(…):`, at the same indentation",
        )
    if chain.skip is None:
        raise ControlFlowError(
            f"ptx.{what} starts at the label of the previous block, which is defined elsewhere (define_label=False)",
            help="leave out define_label=False in the previous block, or branch with ptx.bra",
        )
    if len(chain.scope.nodes) <= chain.index or chain.scope.nodes[chain.index] is not chain.skip:
        raise _misplaced(what)
    return chain


def behind_block(trace: Trace) -> bool:
    """Return whether an `if_`, `elif_` or `else_` block ended directly before the next statement."""
    chain = trace.notes.get(_CHAIN)
    if not isinstance(chain, Chain) or chain.scope is not trace.open_scope:
        return False
    return len(chain.scope.nodes) == chain.length


def _misplaced(what: str) -> ControlFlowError:
    return ControlFlowError(
        f"there are instructions between the block of ptx.if_ and this ptx.{what}",
        help="move the instructions before the ptx.if_, or into one of its blocks",
    )


def _leave(trace: Trace, chain: Chain, labels: BranchLabels) -> None:
    """End the preceding block with a branch to the end of its `if_` chain, before the label for its false condition."""
    scope, index = chain.scope, chain.index
    if chain.end is not None and chain.defines_end:
        chain.end_place = _taken(scope, index + 1)
    _name_end(chain, labels)
    if index > 0 and _is_jump(scope.nodes[index - 1]):
        return
    if chain.end is None:
        chain.end = trace.new_label("endif")
    jump(trace, chain.end, uniform=labels.end_uniform)
    node, site = _taken(scope, len(scope.nodes) - 1)
    scope.nodes.insert(index, node)
    scope.sites.insert(index, site)


def _name_end(chain: Chain, labels: BranchLabels) -> None:
    """Store the name of the label after the `if_` chain, and whether the chain defines it."""
    if labels.end_label is None:
        return
    if chain.end not in {None, labels.end_label}:
        raise ControlFlowError(
            f"the end_label of this chain is {chain.end!r}, got {labels.end_label!r}",
            help="pass the same end_label to every elif_ and else_ of the chain",
        )
    chain.end, chain.named, chain.defines_end = labels.end_label, True, labels.define_end


def _taken(scope: Scope, index: int) -> tuple[nodes.Statement, Site]:
    """Remove and return the label or branch at an index of a scope's statements; raise TypeError for any other node."""
    node = scope.nodes.pop(index)
    if not isinstance(node, nodes.Label | nodes.Instruction):
        raise TypeError(f"{node!r} is not the label or branch of an if_")
    return node, scope.sites.pop(index)


def _is_jump(node: object) -> bool:
    """Return whether a statement is an unconditional jump, such as `bra` or `ret`."""
    return isinstance(node, nodes.Instruction) and node.guard is None and node.opcode[0] in _JUMPS


def _place_end(trace: Trace, chain: Chain, end: str) -> None:
    """Define the label after the chain of `if_` blocks, or move its earlier definition to this position."""
    if chain.end_place is None:
        trace.append(nodes.Label(name=end))
        return
    node, site = chain.end_place
    chain.scope.nodes.append(trace.dressed(node))
    chain.scope.sites.append(site)


def _refuse_between(chain: Chain) -> None:
    """Raise ControlFlowError if lines outside this call emitted statements between the blocks of an `if_` chain."""
    sites = chain.scope.sites[chain.length :]
    if not sites:
        return
    frame = user_frame()
    if frame is None:
        raise _misplaced("elif_")
    positions = list(frame.f_code.co_positions())
    first, last = positions[frame.f_lasti // 2][:2]
    for site in sites:
        pairs = zip(site[::2], site[1::2], strict=True)
        lines = [positions[offset // 2][0] for code, offset in pairs if code == id(frame.f_code)]
        if not any(line is not None and (first or 0) <= line <= (last or 0) for line in lines):
            raise _misplaced("elif_")
