"""Labels whose names follow from function and block numbers, so that the Python file omits the names."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from pyptx_dsl.tracing.label_schemes import LabelNumbers, label_names
from pyptx_ir.syntax import nodes
from pyptx_transpile.reading.rows import spelling_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyptx_dsl.tracing.label_schemes import LabelNames
    from pyptx_transpile.reading.rows import Body, Row

# A label such as $L__BB0_3: its numbers are those of function and basic block.
_NUMBERED = re.compile(r"([A-Za-z_$]+)([0-9]+)(_+)[0-9]+", re.ASCII)


def label_scheme(row: Row) -> str | None:
    """Return the naming scheme that most labels match, such as `$L__BB{function}_{block}`; None without one."""
    return row.derived(_scheme)[0]


def _scheme(row: Row) -> tuple[str | None, dict[int, frozenset[int]]]:
    """Return the naming scheme that most labels match, and per body start the indices of the matching labels."""
    bodies = row.bodies()
    kinds = Counter(
        f"{found[1]}{{function}}{found[3]}"
        for number, body in enumerate(bodies)
        for _, name in body.labels
        if (found := _NUMBERED.fullmatch(name)) is not None and int(found[2]) == number
    )
    if not kinds:
        return None, {}
    ((kind, _),) = kinds.most_common(1)
    schemes = [f"{kind}{{{counted}}}" for counted in ("block", "label")]
    return max(
        [(scheme, _expected_by(row, scheme)) for scheme in schemes], key=lambda one: sum(map(len, one[1].values()))
    )


def expected_labels(body: Body) -> frozenset[int]:
    """Return the indices of labels printed without name: position determines the name, and formatting is usual."""
    return body.row.derived(_scheme)[1].get(body.start, frozenset()) if body.row.is_whole else frozenset()


def _expected_by(row: Row, scheme: str) -> dict[int, frozenset[int]]:
    named = [(body, label_names(scheme, number)) for number, body in enumerate(row.bodies())]
    return {body.start: frozenset(_expected(body, names)) for body, names in named if names is not None}


def _expected(body: Body, names: LabelNames) -> list[int]:
    if not body.labels:
        return []
    return [at for at in _places(body, names) if body.label(at) not in body.listed and not _is_spelled(body, at)]


def _places(body: Body, names: LabelNames) -> Iterator[int]:
    """Yield the indices of the labels whose names equal the names that `names` derives from their positions."""
    numbers, outermost = LabelNumbers(names), body.start - 1
    for at in range(body.start, body.end):
        if body.scopes[at] != outermost:
            continue
        item = body.items[at]
        if isinstance(item.node, nodes.Instruction):
            numbers.instruction(item.node)
        elif item.kind == "}":
            numbers.scope()
        elif isinstance(item.node, nodes.Label):
            if item.node.name == numbers.expected():
                yield at
            numbers.label(item.node.name)


def _is_spelled(body: Body, at: int) -> bool:
    """Return whether a label, or a branch to it, is printed as source text, which would contain the name."""
    return any(spelling_of(body.items[each]) is not None for each in (at, *(jump.at for jump in body.jumps_to(at))))
