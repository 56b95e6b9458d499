"""Detection of names that a traced block rebinds and that later code or the next iteration reads.

`v = v + 1.0` creates a new register and binds `v` to it. The body of `ptx.range_` is traced once for all iterations, so
each iteration would read the register to which `v` was bound before the loop. After `ptx.if_`, the threads that skipped
the block would read a register that they have not written. So the local variables of the function are compared at the
start and the end of a block. A variable with another register or number raises ControlFlowError at the line that binds
it, if it is read before it is bound again. The function's bytecode shows the reads after the block and at the start of
a loop's body.

Lists of registers are included: a list has changed if one of its elements was replaced and the block reads the replaced
one, as in `acc[i] = acc[i] + 1.0`. The same applies to values of a dict and attributes of an object. `v += 1.0` and
`ptx.mov` write to the register and rebind nothing.
"""

from __future__ import annotations

from operator import is_
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, TypeAlias, cast

from pyptx_dsl.control_flow.liveness import Flow, flow_of
from pyptx_dsl.errors import ControlFlowError
from pyptx_dsl.origin import show, user_frame
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.register import RegArray
from pyptx_dsl.tracing.trace import register_names
from pyptx_ir.syntax import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyptx_dsl.tracing.trace import Scope, Trace

_REGISTERS = (Handle, RegArray)
_NUMBERS = frozenset({bool, int, float})
_NO_STATE = (FunctionType, ModuleType, type)
_GENERATOR = 0x20  # value of inspect.CO_GENERATOR; importing inspect takes longer than tracing a kernel
_FLOWS = "ptx.rebinding.flows"

# (whether the next iteration reads the variable, whether its value is a number) -> end of the error on its rebinding.
_EFFECTS = {
    (True, False): "which is traced once: each iteration would read the register assigned before the loop",
    (True, True): "which is traced once: the number would be the same in every iteration",
    (False, False): "and read after it: threads that skip the block would read a register that they have not written",
    (False, True): "and read after it: threads that skip the block would also use the new number",
}

Value: TypeAlias = "Handle | RegArray | int | float | Listed"


class Listed:
    """A list, dict or object that contains registers, its contents, and the syntax of an element access: `[i]`."""

    __slots__ = ("elements", "owner", "spelling")

    def __init__(self, owner: object, elements: Iterable[object], spelling: str) -> None:
        """Store the container of registers, and copy its elements, since the traced block may replace elements."""
        self.owner = owner
        self.elements = tuple(elements)
        self.spelling = spelling


class Watch:
    """Python variables of the functions around one traced block, as of the block's entry.

    `repeats`: the block is a loop body, which runs again after its end. `skipped`: some threads skip the block.
    """

    __slots__ = ("_frames", "_repeats", "_scope", "_skipped", "_start", "_trace", "_what")

    def __init__(self, trace: Trace, what: str, *, repeats: bool, skipped: bool) -> None:
        """Record the user's frame, and for a user's generator also the frame that iterates over the generator."""
        self._trace = trace
        self._what = what
        self._repeats = repeats
        self._skipped = skipped
        self._scope: Scope = trace.open_scope
        self._start = len(self._scope.nodes)
        self._frames = [(frame, frame.f_lasti, _values(frame)) for frame in _frames(trace)]

    def close(self, read: object = None) -> None:
        """Compare variables with those at the block's entry; variables captured by the function `read` count as read.

        Raises ControlFlowError for the first variable that the block has rebound and that is read later.
        """
        frames, self._frames = self._frames, []
        reads = read.__code__.co_freevars if isinstance(read, FunctionType) else ()
        for frame, begin, before in frames:
            now = _values(frame)
            changed = [name for name in before if name in now and self._changed(before[name], now[name])]
            if changed:
                self._judge(frame, begin, before, changed, reads)

    def _changed(self, before: Value, now: Value) -> bool:
        """Return whether a variable's registers changed; for a list changed in place, whether old ones are read."""
        if not (isinstance(before, Listed) and isinstance(now, Listed)):
            return not _same(before, now)
        if len(before.elements) == len(now.elements) and all(map(is_, before.elements, now.elements)):
            return False
        if before.owner is not now.owner:
            return len(before.elements) != len(now.elements) or not all(map(_same, before.elements, now.elements))
        pairs = list(zip(before.elements, now.elements, strict=False))
        kept = {old.raw_name for old, new in pairs if isinstance(old, Handle) and _same(old, new)}
        replaced = {old.raw_name for old, new in pairs if isinstance(old, Handle) and not _same(old, new)} - kept
        return bool(replaced) and not replaced.isdisjoint(_read(self._scope.nodes[self._start :]))

    def _judge(
        self, frame: FrameType, begin: int, before: dict[str, Value], changed: list[str], reads: Iterable[str]
    ) -> None:
        """Raise ControlFlowError for the first variable that the block has rebound and that is read afterwards."""
        flow = _flow(self._trace, frame.f_code)
        end = frame.f_lasti
        again = _captured(frame, flow.live_inside(begin)).union(reads) if self._repeats else frozenset[str]()
        behind = _captured(frame, flow.live_behind(end)) if self._skipped else frozenset[str]()
        targets = flow.targets_behind(begin)
        for name in changed:
            stores = flow.stores(name, begin, end)
            if (name in again or name in behind) and not (stores and set(stores) <= targets):
                place = _place(frame, stores[-1] if stores else begin)
                raise self._error(name, before[name], place, again=name in again)

    def _error(self, name: str, before: Value, place: str, *, again: bool) -> ControlFlowError:
        number = isinstance(before, int | float)
        return ControlFlowError(
            f"`{name}` is bound to another {'number' if number else 'register'} in a block of {self._what}, "
            f"{_EFFECTS[again, number]}",
            where=place,
            help=_remedy(name, before),
        )


def _captured(frame: FrameType, live: frozenset[str]) -> frozenset[str]:
    """Return the live variables, and the variables that are captured by functions bound to live variables."""
    functions = [value for value in map(frame.f_locals.get, live) if isinstance(value, FunctionType)]
    return live.union(*(function.__code__.co_freevars for function in functions))


def _place(frame: FrameType, offset: int) -> str:
    """Return the source location of a bytecode instruction as text."""
    code = frame.f_code
    line, _, column, _ = list(code.co_positions())[offset // 2]
    return show(code.co_filename, line or frame.f_lineno, code.co_qualname, column)


def _remedy(name: str, before: Value) -> str:
    if isinstance(before, int | float):
        return f"use a register defined before the block: {name} = reg.scalar(…, init={before!r}), then `{name} += …`"
    if isinstance(before, Listed):
        element = name + before.spelling
        return f"write into its registers: `{element} += …` or `ptx.mov(type, {element}, …)`"
    return f"write `{name} += …` or `ptx.mov(type, {name}, …)`, or use another name for a value of this block only"


# --- variables --------------------------------------------------------------------------------------


def _frames(trace: Trace) -> Iterator[FrameType]:
    """Yield the user's frame, and while that is a generator, the frame that iterates over the generator."""
    frame = user_frame()
    while frame is not None and frame is not trace.recorder.root:
        yield frame
        if not frame.f_code.co_flags & _GENERATOR:
            return
        frame = user_frame(frame.f_back)


def _values(frame: FrameType) -> dict[str, Value]:
    """Return the frame's variables whose values are registers, numbers, or containers of registers."""
    found = dict[str, Value]()
    held: dict[str, object] = frame.f_locals
    if held is frame.f_globals:  # frame of a module's top-level code: `co_names` lists the bound global names
        held = {name: held[name] for name in frame.f_code.co_names if name in held}
    for name, value in held.items():
        if isinstance(value, _REGISTERS) or (isinstance(value, int | float) and type(value) in _NUMBERS):
            found[name] = value
            continue
        listed = _listed(value)
        if listed is not None:
            found[name] = listed
    return found


def _listed(value: object) -> Listed | None:
    """Return a list or dict whose first element is a register, or an object with a register attribute, else None."""
    if isinstance(value, list | tuple):
        elements = cast("Sequence[object]", value)
        return Listed(elements, elements, "[i]") if elements and isinstance(elements[0], Handle) else None
    if isinstance(value, dict):
        held = cast("dict[object, object]", value)
        return Listed(held, held.values(), "[key]") if isinstance(next(iter(held.values()), None), Handle) else None
    if not type(value).__dictoffset__ or isinstance(value, _NO_STATE):
        return None  # no `__dict__` attribute: a lookup could call a `__getattr__` that raises
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is not dict:
        return None
    registers = cast("dict[str, object]", attributes).values()
    return Listed(value, registers, ".attribute") if any(isinstance(each, Handle) for each in registers) else None


def _same(before: object, now: object) -> bool:
    """Return whether `before` and `now` are the same registers, or equal numbers."""
    if before is now:
        return True
    if isinstance(before, Handle) and isinstance(now, Handle):
        return type(before) is type(now) and before.raw_name == now.raw_name
    if isinstance(before, RegArray) and isinstance(now, RegArray):
        return before.base == now.base and before.count == now.count
    return isinstance(before, int | float) and isinstance(now, int | float) and before == now


def _read(statements: Iterable[object]) -> Iterator[str]:
    """Yield the names of the registers in each instruction's operands after the first, also in inner `{ }` scopes."""
    for node in statements:
        inner = getattr(node, "nodes", None)
        if isinstance(inner, list):
            yield from _read(cast("list[object]", inner))
        elif isinstance(node, nodes.Instruction):
            for operand in node.operands[1:]:
                yield from register_names(operand)


def _flow(trace: Trace, code: CodeType) -> Flow:
    """Return the live variables at each instruction of a function, analyzed once per trace.

    The cache key is the code object's id, because the hash of a code object hashes all its constants.
    """
    known = cast("dict[int, Flow]", trace.notes.setdefault(_FLOWS, dict[int, Flow]()))
    flow = known.get(id(code))
    if flow is None:
        flow = known[id(code)] = flow_of(code)
    return flow
