"""Rewrites of several parameter loads to one call: `n, alpha = ptx.params(*params[1:3], into=[r[1], f[1]])`.

Pointers that are converted to global addresses directly after the load are `ptx.global_ptrs(…)`, which also accepts
registers with pointers loaded earlier. Result registers are bound to names as by the rule `register`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.modules.statements import parameter_types
from pyptx_dsl.types import BY_NAME
from pyptx_ir.plugins.rows import SugarRule
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax import operands as tree
from pyptx_transpile.planning.plan import Rewrite
from pyptx_transpile.printing.layout import WIDTH, call, keyword, listed
from pyptx_transpile.reading.spelling import banks_of
from pyptx_transpile.rules.register_names import wanted_name
from pyptx_transpile.rules.register_uses import uses_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyptx_dsl.types import PtxType
    from pyptx_transpile.planning.plan import RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.printing.layout import Expression, Group
    from pyptx_transpile.reading.rows import Body

__all__ = ["PARAMETER"]

_LEAST = 2  # minimum kernel parameters or pointers that one call loads; for a single one, a nested call is as short
_POINTERS = ("u64", "b64")
_TO_GLOBAL = ("cvta", "to", "global", "u64")
_ELEMENT = re.compile(r"(\w+)\[(\d+)\]", re.ASCII)


@dataclass(frozen=True, slots=True)
class ParameterUse:
    """Load of a parameter or conversion of a pointer: the indices of its first and last instruction.

    `source` is a parameter, or the register with a pointer; `loaded` is the type of the load.
    """

    at: int
    last: int
    source: tree.Operand
    result: tree.Register
    loaded: str = ""
    generic: tree.Register | None = None

    @property
    def kind(self) -> str:
        """Key of the call that may load this parameter: all parameters and pointers of one call have equal keys."""
        return "value" if self.loaded and self.generic is None else f"pointer {self.loaded}"


def find(body: Body, plan: RewritePlan) -> Iterator[Rewrite]:
    """Yield a rewrite for each run of parameter loads, or of pointer conversions, that one call replaces."""
    if body.declared != body.start:
        return  # a helper function's body loads no kernel parameters
    finder = _Finder(body)
    for slice_ in list(plan.unclaimed()):
        for row in _rows(finder.given(slice_)):
            for part, keywords in finder.parts(row):
                names = finder.names(part)
                if len(part) >= _LEAST or (part[0].last > part[0].at and any(names)):
                    yield _rewrite(part, keywords, names)


def _rows(given: Iterable[ParameterUse]) -> Iterator[list[ParameterUse]]:
    """Yield the runs of parameter uses that follow one another directly and have equal `kind`."""
    row: list[ParameterUse] = []
    for each in given:
        if row and (each.at != row[-1].last + 1 or each.kind != row[-1].kind):
            yield row
            row = []
        row.append(each)
    if row:
        yield row


class _Finder:
    """Search for the parameter loads of one body."""

    def __init__(self, body: Body) -> None:
        self._body, self._banks = body, banks_of(body)
        self._places = body.places("ld", "cvta")
        header = body.items[body.start - 2].node
        given = header.parameters if isinstance(header, nodes.Function) else None
        self._types: Mapping[str, PtxType | None] = parameter_types(given or ())
        self._called: dict[tree.Operand, str] = {}

    def given(self, places: range) -> Iterator[ParameterUse]:
        """Yield the parameter loads and pointer conversions at the indices `places`, in text order."""
        behind = places.start
        for at in self._places[bisect_left(self._places, places.start) : bisect_left(self._places, places.stop)]:
            if at < behind:
                continue
            load = self._load(at)
            pointer = self._pointer(at if load is None else at + 1) if load is None or at + 1 < places.stop else None
            if load is None:
                yield from () if pointer is None else (pointer,)
            elif pointer is None or pointer.source != load.result or load.loaded not in _POINTERS:
                yield load
            elif not self._body.deviates(at + 1):
                yield ParameterUse(at, at + 1, load.source, pointer.result, load.loaded, load.result)
                behind = at + 2
            else:
                yield load

    def _load(self, at: int) -> ParameterUse | None:
        match self._body.instruction(at):
            case nodes.Instruction(
                ("ld", "param", kind),
                (tree.Register() as result, tree.Address(base=tree.Symbol(name) as source, offset=None)),
                None,
            ) as node if self._banks.type_of(result) and (name in self._types or self._body.items[at].depth == 1):
                self._called[result] = wanted_name(node, self._called, self._body.items[at].function) or ""
                return ParameterUse(at, at, source, result, kind)
            case _:
                return None

    def _pointer(self, at: int) -> ParameterUse | None:
        match self._body.instruction(at):
            case nodes.Instruction(opcode, (tree.Register() as result, tree.Register() as source), None) if (
                opcode == _TO_GLOBAL and self._banks.type_of(result) and self._banks.type_of(source)
            ):
                self._called[result] = self._called.get(source, "")
                return ParameterUse(at, at, source, result)
            case _:
                return None

    def parts(self, row: Sequence[ParameterUse]) -> Iterator[tuple[list[ParameterUse], list[str]]]:
        """Yield the slices of the run `row` that one call can replace, with the call's keywords for the load types."""
        part: list[ParameterUse] = []
        modes: set[str] = set()
        for each in row:
            own = self._modes(each)
            if part and (self._body.deviates(each.at) or not modes & own):
                yield part, _keywords(modes)
                part = []
            modes = modes & own if part else own
            part.append(each)
        yield part, _keywords(modes)

    def _modes(self, each: ParameterUse) -> set[str]:
        """Return the alternative keywords of the call that specify a load's type; `""` if none is needed."""
        if each.kind != "value":
            return {"bits=True" if each.loaded == "b64" else ""}
        dtype, found = self._types.get(str(getattr(each.source, "name", ""))), set[str]()
        if dtype is not None and dtype.memory == each.loaded:
            found.add("")
        if dtype is not None and f"b{dtype.bits}" == each.loaded:
            found.add("bits=True")
        if each.loaded in BY_NAME and BY_NAME[each.loaded].memory == each.loaded:
            found.add(f"dtype={each.loaded}")
        return found

    def names(self, part: Sequence[ParameterUse]) -> list[str]:
        """Return the names of the result registers; "" for a result that is read too rarely to be named."""
        uses = uses_of(self._body)
        return [self._called.get(each.result, "") if uses.is_one_value(each.result.name) else "" for each in part]


def _keywords(modes: set[str]) -> list[str]:
    return [mode for mode in [min(modes, default="")] if mode]


def _rewrite(part: Sequence[ParameterUse], keywords: Sequence[str], names: Sequence[str]) -> Rewrite:
    def write(printer: BodyPrinter, _slots: tuple[Slot, ...]) -> None:
        printer.deviation(part[0].at)
        begin = 0
        while begin < len(part):
            end = begin + 1
            while end < len(part) and _fits(printer, part[begin : end + 1], keywords, names[begin : end + 1]):
                end += 1
            _say(printer, part[begin:end], keywords, names[begin:end])
            begin = end

    start = part[0].at
    return Rewrite("parameter", start, part[-1].last + 1, write, opens=0, like=start)


def _fits(printer: BodyPrinter, part: Sequence[ParameterUse], keywords: Sequence[str], names: Sequence[str]) -> bool:
    width = len(f"{_bound(names)}{_call(printer, part, keywords)}")
    return 4 * printer.page.indent + width <= WIDTH


def _bound(names: Sequence[str]) -> str:
    """Return the assignment targets of a call with `=`; "" if no result has a name."""
    said = [name or "_" for name in names]
    while said and said[-1] == "_":
        said.pop()
    rest = len(names) - len(said)
    said += ["_"] if rest == 1 else ["*_"] * bool(rest)
    return "" if rest == len(names) else f"({said[0]},) = " if len(said) == 1 else f"{', '.join(said)} = "


def _say(printer: BodyPrinter, part: Sequence[ParameterUse], keywords: Sequence[str], names: Sequence[str]) -> None:
    alone = len(part) == 1 and part[0].at == part[0].last
    said = printer.called(printer.body.branch(part[0].at)) if alone else _call(printer, part, keywords)
    results = [printer.values.expression(each.result) for each in part]
    given = [name and printer.registers.name(each.result.name, name) for each, name in zip(part, names, strict=True)]
    before = f"{given[0]} = " if alone and given[0] else _bound(given)
    bound = [(name, result) for name, result in zip(given, results, strict=True) if name]
    printer.page.bind_several(said, bound, before)


def _call(printer: BodyPrinter, part: Sequence[ParameterUse], keywords: Sequence[str]) -> Group:
    """Return the `ptx.params` or `ptx.global_ptrs` call that emits these parameter loads or pointer conversions."""
    value = printer.values.expression
    arguments: list[Expression] = [*_folded([value(each.source) for each in part])]
    generic = [value(each.generic) for each in part if each.generic is not None]
    arguments += [keyword("generic", _list(generic))] if generic else []
    arguments.append(keyword("into", _list([value(each.result) for each in part])))
    function = "ptx.params" if part[0].kind == "value" else "ptx.global_ptrs"
    return call(function, [*arguments, *keywords])


def _list(texts: Sequence[str]) -> Expression:
    """Return the Python list of registers, or a slice of their register group if they are consecutive."""
    folded = _folded(texts)
    return folded[0][1:] if len(folded) == 1 and folded[0][0] == "*" else listed(folded)


def _folded(texts: Sequence[str]) -> list[str]:
    """Return the elements of a list of registers; consecutive registers become a slice: `*rd[1:3]`."""
    found: list[str] = []
    at = 0
    while at < len(texts):
        end = at + 1
        step = _step(texts[at:end], texts[end:]) if _step(texts[at : at + 1], texts[at + 1 :]) in {1, -1} else 0
        while step and end < len(texts) and _step(texts[end - 1 : end], texts[end:]) == step:
            end += 1
        found.append(texts[at] if end == at + 1 else _slice(texts[at], end - at, step))
        at = end
    return found


def _step(before: Sequence[str], behind: Sequence[str]) -> int:
    """Return the register index difference from `before[0]` to `behind[0]`; 0 unless both are elements of one group."""
    one = _ELEMENT.fullmatch(before[0])
    two = _ELEMENT.fullmatch(behind[0]) if behind else None
    return int(two[2]) - int(one[2]) if one is not None and two is not None and one[1] == two[1] else 0


def _slice(first: str, count: int, step: int) -> str:
    stem, _, number = first.rstrip("]").rpartition("[")
    end = int(number) + count * step
    return f"*{stem}[{number}:{end if end >= 0 else ''}{':-1' if step < 0 else ''}]"


PARAMETER = SugarRule(
    name="parameter",
    summary="several loads of kernel parameters, and cvta to global pointers, in one call",
    before="ld.param.u64 %rd1, [k_param_0];\n\tcvta.to.global.u64 %rd2, %rd1;"
    "\n\tld.param.u64 %rd3, [k_param_1];\n\tcvta.to.global.u64 %rd4, %rd3;",
    after='ptx.global_ptrs("k_param_0", "k_param_1", generic=[rd[1], rd[3]], into=[rd[2], rd[4]])',
    find=find,
)
