"""Recognition of mbarrier waits: the form of `ptx.mbarrier.wait` that emits the instructions around a poll.

The forms are defined by the DSL's `wait_forms`; each of their steps is matched here by the function of the same name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_dsl.instructions.groups.wait_forms import FORMS, GUARDED, poll_words
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyptx_dsl.instructions.groups.wait_forms import WaitForm
    from pyptx_transpile.reading.rows import Body

__all__ = ["WaitMatch", "wait_at", "waits"]

_POLLS = frozenset({("mbarrier", "try_wait"), ("mbarrier", "test_wait")})
_SEMS, _SCOPES, _SPACES = {"acquire", "relaxed"}, {"cta", "cluster"}, {"shared", "shared::cta"}
# Rows of (name, form) of the recognized mbarrier waits, those with most steps first.
_ROWS = tuple(sorted((*FORMS.items(), *GUARDED.items()), key=lambda row: -len(row[1].steps)))
_FARTHEST = 12  # maximum statements between the start of an mbarrier wait and its try_wait or test_wait


@dataclass(slots=True)
class WaitMatch:
    """A matched mbarrier wait: form, index range, and values of the form's steps by keyword of `ptx.mbarrier.wait`.

    `knobs` are strings, names and numbers; `operands` are PTX operands. `mbar` and `phase` are the first two arguments.
    `computed` has the indices of instructions that compute them in each iteration. `declares`: whether the form
    declares its predicate.
    """

    form: str
    start: int
    declares: bool
    end: int = 0
    knobs: dict[str, object] = field(default_factory=dict[str, object])
    operands: dict[str, tree.Operand] = field(default_factory=dict[str, tree.Operand])
    computed: list[int] = field(default_factory=list[int])

    def says(self, **knobs: object) -> bool:
        """Record keyword values that a step of a wait implies; return whether they agree with the earlier steps."""
        return all(self.knobs.setdefault(name, value) == value for name, value in knobs.items())

    def has(self, **operands: tree.Operand) -> bool:
        """Record operands of a wait's step; return whether they agree with the operands of earlier steps."""
        return all(self.operands.setdefault(name, value) == value for name, value in operands.items())


def waits(body: Body) -> Iterator[WaitMatch]:
    """Yield the mbarrier waits of a body."""
    for at in body.places("mbarrier"):
        if body.branch(at).opcode[:2] in _POLLS:
            found = wait_at(body, at)
            if found is not None:
                yield found


def wait_at(body: Body, poll: int) -> WaitMatch | None:
    """Return the longest wait that contains the poll at `poll`; None if no form of `ptx.mbarrier.wait` matches."""
    for form, row in _ROWS:
        for start in range(poll, max(poll - _FARTHEST, body.start) - 1, -1):
            found = WaitMatch(form, start, declares=bool(row.scoped))
            if _matches(body, found, row) and found.start <= poll < found.end and _is_whole(body, found):
                return found
    return None


def _matches(body: Body, found: WaitMatch, row: WaitForm) -> bool:
    """Return whether the steps of a form match at the start of `found`; record their values."""
    braced = ("{", *row.scoped, "}") if row.scoped else ()
    at, number = found.start, 0
    for step in (*row.before, *braced, *row.behind):
        if step in {"{", "}"}:
            if at >= body.end or body.items[at].kind != step:
                return False
            at += 1
            continue
        at = _located(body, found, at, step, number)
        if at >= body.end or not _STEPS[step](found, body.items[at].node):
            return False
        at, number = at + 1, number + 1
        if step == "again:":
            at = _computing(body, found, at)
    found.end = at
    return _computes(body, found)


def _located(body: Body, found: WaitMatch, at: int, step: str, number: int) -> int:
    """Step over the `.loc` that some compilers emit before labels and before instructions without a guard."""
    node = body.items[at].node if at < body.end else None
    if step[0] in "@.":
        return at
    if not isinstance(node, nodes.Loc):
        return at if found.says(loc=None) else body.end
    place = node.file, node.line - number, node.column
    tail = node.inlined_at
    if tail is None:
        return at + 1 if found.says(loc=place) else body.end
    name = (tail.function_label, tail.offset) if tail.offset else tail.function_label
    inlined = (*place, name, (tail.file, tail.line, tail.column))
    return at + 1 if found.says(loc=inlined) else body.end


def _computing(body: Body, found: WaitMatch, at: int) -> int:
    """Step over at most two instructions after the loop label, which compute the mbarrier or phase operand."""
    for place in (at, at + 1):
        node = body.instruction(place) if place < body.end else None
        if node is None or node.guard is not None or node.opcode[0] in {"bra", "mbarrier"}:
            return place
        found.computed.append(place)
    return at + 2


def _computes(body: Body, found: WaitMatch) -> bool:
    """Return whether an iteration's instructions compute the mbarrier, the phase, or both in this order."""
    mbar, phase = found.operands["mbar"], found.operands["phase"]
    base = mbar.base if isinstance(mbar, tree.Address) and mbar.offset is None else mbar
    written = [body.branch(at).operands[0] if body.branch(at).operands else None for at in found.computed]
    return all(isinstance(each, tree.Register) for each in written) and written in ([], [base], [phase], [base, phase])


def _is_whole(body: Body, found: WaitMatch) -> bool:
    """Return whether no outside branch enters a wait, and all its statements but the first have usual formatting."""
    inside = range(found.start, found.end)
    jumps = [jump for at in inside for jump in body.jumps_to(at)]
    return all(jump.at in inside for jump in jumps) and not any(map(body.deviates, inside[1:]))


# --- steps ------------------------------------------------------------------------------------------


def _label(found: WaitMatch, node: nodes.Statement | None, name: str) -> bool:
    return isinstance(node, nodes.Label) and found.says(**{name: node.name})


def _declares(found: WaitMatch, node: nodes.Statement | None) -> bool:
    match node:
        case nodes.RegisterDeclaration("pred", (nodes.RegisterName(name, None),), None, None):
            return found.says(done=name)
        case _:
            return False


def _polls(found: WaitMatch, node: nodes.Statement | None) -> bool:
    if not isinstance(node, nodes.Instruction) or node.guard is not None or node.opcode[:2] not in _POLLS:
        return False
    words: dict[str, str | bool | None] = {"parity": "parity" in node.opcode}
    for keyword, values in (("sem", _SEMS), ("scope", _SCOPES), ("space", _SPACES)):
        words[keyword] = next((word for word in node.opcode if word in values), None)
    if (words["sem"] is None) != (words["scope"] is None) or poll_words(node.opcode[1], **words) != node.opcode:
        return False
    done, mbar, phase, *help = node.operands
    told = found.says(poll=node.opcode[1], **words) and found.has(mbar=mbar, phase=phase)
    return told and _is_done(found, done) and all(found.has(suspend_time_hint=each) for each in help)


def _is_done(found: WaitMatch, operand: tree.Operand) -> bool:
    """Return whether an operand is the predicate that the form declares; true if the form declares no predicate."""
    if not isinstance(operand, tree.Register | tree.Symbol):
        return False
    return found.says(done=operand.name) if found.declares else found.has(done=tree.Register(operand.name))


def _branches(
    found: WaitMatch, node: nodes.Statement | None, label: str, guard: str | None = None, *, negated: bool = False
) -> bool:
    """Return whether a statement is a branch to a label of the wait, guarded by its predicate `guard` or unguarded."""
    match node:
        case nodes.Instruction(("bra", *more), (tree.Symbol(name),)) if more in ([], ["uni"]):
            there = found.says(**{label: name}, uniform=bool(more))
            return there and _is_guarded(found, node, guard, negated=negated)
        case _:
            return False


def _is_guarded(found: WaitMatch, node: nodes.Instruction, by: str | None, *, negated: bool) -> bool:
    guard = node.guard
    if guard is None or by is None:
        return guard is None and by is None
    register = tree.Register(guard.register)
    named = _is_done(found, register) if by == "done" else found.has(**{by: register})
    return named and guard.negated == negated


def _sleeps(found: WaitMatch, node: nodes.Statement | None) -> bool:
    match node:
        case nodes.Instruction(("nanosleep", "u32"), (time,)):
            return _is_guarded(found, node, "done", negated=True) and found.has(nanoseconds=time)
        case _:
            return False


def _selects(found: WaitMatch, node: nodes.Statement | None) -> bool:
    match node:
        case nodes.Instruction(("selp", *_), (tree.Register() as result, one, zero, done), None):
            numbers = one == _ONE and zero == _ZERO
            return numbers and _is_done(found, done) and found.has(result=result) and found.says(selp=_words(node))
        case _:
            return False


def _compares(found: WaitMatch, node: nodes.Statement | None) -> bool:
    match node:
        case nodes.Instruction(("setp", "eq" | "ne", *_), (tree.Register() as failed, result, zero), None):
            return zero == _ZERO and found.has(failed=failed, result=result) and found.says(setp=_words(node))
        case _:
            return False


def _goes_back(found: WaitMatch, node: nodes.Statement | None) -> bool:
    done = str(found.knobs["setp"]).startswith("setp.ne")
    return _branches(found, node, "label", "failed", negated=done)


def _words(node: nodes.Instruction) -> str:
    return ".".join(node.opcode)


_ONE, _ZERO = tree.Immediate("1"), tree.Immediate("0")
_STEPS: Mapping[str, Callable[[WaitMatch, nodes.Statement | None], bool]] = {
    "again:": lambda found, node: _label(found, node, "label"),
    "past:": lambda found, node: _label(found, node, "past_label"),
    ".reg done": _declares,
    "poll": _polls,
    "bra again": lambda found, node: _branches(found, node, "label"),
    "@!done bra again": lambda found, node: _branches(found, node, "label", "done", negated=True),
    "@done bra past": lambda found, node: _branches(found, node, "past_label", "done"),
    "@!pred bra past": lambda found, node: _branches(found, node, "past_label", "pred", negated=True),
    "@!done nanosleep": _sleeps,
    "selp": _selects,
    "setp": _compares,
    "@failed bra again": _goes_back,
}
"""Matchers for the steps of `pyptx_dsl.instructions.groups.wait_forms`."""
