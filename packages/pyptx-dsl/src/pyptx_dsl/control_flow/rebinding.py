"""Names that a traced block binds anew, where the code behind it, or the block's next turn, goes on reading them.

`v = v + 1.0` makes a fresh register and binds `v` to it. In the body of `ptx.range_`, which is traced once for all
turns, each turn would read the register that `v` was before the loop; behind `ptx.if_`, the threads that skipped the
block would read one that they have never written. So the local variables of the function are compared at the two ends
of a block. One that holds another register than before, or another number, is a ControlFlowError at the line that binds
it, if its value is wanted again: its bytecode says whether it is read, before it is bound anew, behind the block or at
the beginning of a loop's body.

A list of registers is one too, and another where one of its elements was replaced and the block reads the replaced
one, as `acc[i] = acc[i] + 1.0` does; so are values of a dict, and attributes of an object. `v += 1.0` and `ptx.mov`
write into the register, and bind nothing anew.
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
_GENERATOR = 0x20  # inspect.CO_GENERATOR; importing inspect costs more than a trace
_FLOWS = "ptx.rebinding.flows"

# What is wrong, by whether the next turn reads the variable and whether the variable held a number.
_EFFECTS = {
    (True, False): "which is traced once: each turn would read the register that it was in front of the loop",
    (True, True): "which is traced once: the number would be the same in every turn",
    (False, False): "and read behind it: threads that skip the block would read a register that they have not written",
    (False, True): "and read behind it: threads that skip the block would go on with the new number too",
}

Value: TypeAlias = "Handle | RegArray | int | float | Listed"


class Listed:
    """What holds registers (a list, a dict, an object), and what it held; `spelling` is that of an element."""

    __slots__ = ("elements", "owner", "spelling")

    def __init__(self, owner: object, elements: Iterable[object], spelling: str) -> None:
        """Copy the elements."""
        self.owner = owner
        self.elements = tuple(elements)
        self.spelling = spelling


class Watch:
    """The variables of the functions around one block, as they were when it was entered.

    `repeats`: the block may run again, so that its beginning follows on its end. `skipped`: not all threads run it.
    """

    __slots__ = ("_frames", "_repeats", "_scope", "_skipped", "_start", "_trace", "_what")

    def __init__(self, trace: Trace, what: str, *, repeats: bool, skipped: bool) -> None:
        """Look at the user's frame, and through generators of the user's at who iterates over them."""
        self._trace = trace
        self._what = what
        self._repeats = repeats
        self._skipped = skipped
        self._scope: Scope = trace.open_scope
        self._start = len(self._scope.nodes)
        self._frames = [(frame, frame.f_lasti, _values(frame)) for frame in _frames(trace)]

    def close(self, read: object = None) -> None:
        """Compare with the variables now; `read` is a function whose variables are read at the end of the block.

        Raise ControlFlowError for the first that the block has bound to another value which is read later.
        """
        frames, self._frames = self._frames, []
        reads = read.__code__.co_freevars if isinstance(read, FunctionType) else ()
        for frame, begin, before in frames:
            now = _values(frame)
            changed = [name for name in before if name in now and self._changed(before[name], now[name])]
            if changed:
                self._judge(frame, begin, before, changed, reads)

    def _changed(self, before: Value, now: Value) -> bool:
        """Tell whether a variable has another value; of one list, whether the block reads what it has replaced."""
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
        """Raise for the first of the changed variables whose value is wanted again."""
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
            hint=_remedy(name, before),
        )


def _captured(frame: FrameType, live: frozenset[str]) -> frozenset[str]:
    """Return live variables and those that functions in live variables use."""
    functions = [value for value in map(frame.f_locals.get, live) if isinstance(value, FunctionType)]
    return live.union(*(function.__code__.co_freevars for function in functions))


def _place(frame: FrameType, offset: int) -> str:
    """Show the line of an instruction."""
    code = frame.f_code
    line, _, column, _ = list(code.co_positions())[offset // 2]
    return show(code.co_filename, line or frame.f_lineno, code.co_qualname, column)


def _remedy(name: str, before: Value) -> str:
    if isinstance(before, int | float):
        return f"make it a register in front of the block: {name} = reg.scalar(…, init={before!r}), then `{name} += …`"
    if isinstance(before, Listed):
        element = name + before.spelling
        return f"write into its registers: `{element} += …` or `ptx.mov(type, {element}, …)`"
    return f"write `{name} += …` or `ptx.mov(type, {name}, …)`, or take another name for what the block alone uses"


# --- variables --------------------------------------------------------------------------------------


def _frames(trace: Trace) -> Iterator[FrameType]:
    """Yield the frames in which the body of a block stands: the user's, and whose loop a generator of theirs feeds."""
    frame = user_frame()
    while frame is not None and frame is not trace.recorder.root:
        yield frame
        if not frame.f_code.co_flags & _GENERATOR:
            return
        frame = user_frame(frame.f_back)


def _values(frame: FrameType) -> dict[str, Value]:
    """Return the variables that hold registers, numbers, or lists of registers."""
    found = dict[str, Value]()
    held: dict[str, object] = frame.f_locals
    if held is frame.f_globals:  # of a file, whose other names its code does not bind
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
    """Return what a list, a dict or an object holds, if its first element, or an attribute, is a register."""
    if isinstance(value, list | tuple):
        elements = cast("Sequence[object]", value)
        return Listed(elements, elements, "[i]") if elements and isinstance(elements[0], Handle) else None
    if isinstance(value, dict):
        held = cast("dict[object, object]", value)
        return Listed(held, held.values(), "[key]") if isinstance(next(iter(held.values()), None), Handle) else None
    if not type(value).__dictoffset__ or isinstance(value, _NO_STATE):
        return None  # without asking for what is not there, which objects with a `__getattr__` answer with an error
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is not dict:
        return None
    registers = cast("dict[str, object]", attributes).values()
    return Listed(value, registers, ".attribute") if any(isinstance(each, Handle) for each in registers) else None


def _same(before: object, now: object) -> bool:
    """Tell whether two values are the same registers, or equal numbers."""
    if before is now:
        return True
    if isinstance(before, Handle) and isinstance(now, Handle):
        return type(before) is type(now) and before.raw_name == now.raw_name
    if isinstance(before, RegArray) and isinstance(now, RegArray):
        return before.base == now.base and before.count == now.count
    return isinstance(before, int | float) and isinstance(now, int | float) and before == now


def _read(statements: Iterable[object]) -> Iterator[str]:
    """Yield the registers that instructions read, those of inner scopes too; the first operand is written."""
    for node in statements:
        inner = getattr(node, "nodes", None)
        if isinstance(inner, list):
            yield from _read(cast("list[object]", inner))
        elif isinstance(node, nodes.Instruction):
            for operand in node.operands[1:]:
                yield from register_names(operand)


def _flow(trace: Trace, code: CodeType) -> Flow:
    """Return the flow of a function's variables, analysed once per trace: hashing code hashes its constants."""
    known = cast("dict[int, Flow]", trace.notes.setdefault(_FLOWS, dict[int, Flow]()))
    flow = known.get(id(code))
    if flow is None:
        flow = known[id(code)] = flow_of(code)
    return flow
