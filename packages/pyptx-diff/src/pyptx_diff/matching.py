"""Pair the functions of two modules that a comparison treats as versions of each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from pyptx_diff.alignment import align
from pyptx_diff.items import Body, DiffItem
from pyptx_diff.pairing import pair_by_key

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from pyptx_diff.items import Content

BodyPair: TypeAlias = tuple[Body | None, Body | None]
_Pairs: TypeAlias = "list[tuple[Body, Body]]"

# Minimum fraction of the larger function's statements that must be equal to pair functions with different names.
_LEAST: Final = 0.5
_MOST_TRIED: Final = 4096  # maximum number of function pairs whose similarity is computed


def match_bodies(before: Content, after: Content) -> list[BodyPair]:
    """Pair the bodies of two modules, in the order of the second; removed bodies come last.

    Public functions pair by name. A compiler chooses the names of private functions, so those pair first by their
    content and callers. A declaration pairs with the counterpart of its definition. Other functions pair by similarity.
    If each module has one kernel, the two pair even if they are not similar.
    """
    found, left, right = _by_key(_public_name, before, after, before.bodies, after.bodies)
    called = _called(found, before, after)
    pairs = found + called
    left, right = _without(left, [mine for mine, _ in called]), _without(right, [other for _, other in called])
    for key in (_name_and_tokens, _tokens, _name):
        found, left, right = _by_key(key, before, after, left, right)
        pairs += found
    numbers = {mine.declaration: other.declaration for mine, other in pairs}
    found, left, right = pair_by_key(left, right, lambda one: numbers.get(one.declaration), lambda one: one.declaration)
    pairs += found
    only = _only_kernels(before, after, left, right)
    pairs += only
    left, right = _without(left, [mine for mine, _ in only]), _without(right, [other for _, other in only])
    alike = _alike(left, right)
    partners = {id(other): mine for mine, other in (*pairs, *alike)}
    gone = _without(left, [mine for mine, _ in alike])
    return [*((partners.get(id(body)), body) for body in after.bodies), *((body, None) for body in gone)]


def _by_key(
    key: Callable[[Body, Content], Hashable], before: Content, after: Content, left: list[Body], right: list[Body]
) -> tuple[_Pairs, list[Body], list[Body]]:
    return pair_by_key(left, right, lambda one: key(one, before), lambda one: key(one, after))


def _without(bodies: list[Body], taken: list[Body]) -> list[Body]:
    identities = set(map(id, taken))
    return [body for body in bodies if id(body) not in identities]


def _public_name(body: Body, content: Content) -> Hashable:
    public = body.declaration < 0 or content.declarations[body.declaration].public
    return (body.kind, body.defined, body.name) if public else None


def _name(body: Body, _: Content) -> Hashable:
    return (body.kind, body.name) if body.defined else None


def _name_and_tokens(body: Body, content: Content) -> Hashable:
    return (body.name, _tokens(body, content)) if body.defined else None


def _tokens(body: Body, _: Content) -> Hashable:
    return tuple([item.token for item in body.items]) if body.defined else None


class _Definition(NamedTuple):
    """Definition of a private function or variable: its statements, and a hash of their shape numbers (`token`)."""

    items: list[DiffItem]
    tokens: int
    body: Body | None = None


def _called(pairs: _Pairs, before: Content, after: Content) -> _Pairs:
    """Pair private functions of equal content that paired function bodies refer to at equal positions.

    The first paired bodies are `pairs`; each new pair of functions is searched in turn. The reference may be indirect:
    the body names a variable (a virtual table), and its initializer names the function.
    """
    mine, others = _private(before), _private(after)
    found: _Pairs = []
    known = [(one.items, other.items) for one, other in pairs] + _public_variables(before, after)
    while known and mine and others:
        named = Counter(pair for both in known for pair in _names(*both) if pair[0] in mine and pair[1] in others)
        known = list[tuple[list[DiffItem], list[DiffItem]]]()
        for one, other in sorted(named, key=lambda pair: (-named[pair], pair)):
            if one in mine and other in others and mine[one].tokens == others[other].tokens:
                first, second = mine.pop(one), others.pop(other)
                known.append((first.items, second.items))
                found += [(first.body, second.body)] if first.body and second.body else []
    return found


def _private(content: Content) -> dict[int, _Definition]:
    """Return the private functions and variables of a module, by declaration number."""
    found = {
        body.declaration: _Definition(body.items, hash(_tokens(body, content)), body)
        for body in content.bodies
        if body.defined and body.declaration >= 0
    }
    found |= {item.names[0]: _Definition([item], hash(item.token)) for item in content.bodies[0].variables}
    return {number: one for number, one in found.items() if not content.declarations[number].public}


def _public_variables(before: Content, after: Content) -> list[tuple[list[DiffItem], list[DiffItem]]]:
    """Return the variables with the same public name in both modules."""
    sides = [
        {one.declarations[item.names[0]].name: item for item in one.bodies[0].variables} for one in (before, after)
    ]
    public = (name for name, item in sides[0].items() if before.declarations[item.names[0]].public)
    return [([sides[0][name]], [sides[1][name]]) for name in public if name in sides[1]]


def _names(mine: list[DiffItem], other: list[DiffItem]) -> Iterator[tuple[int, int]]:
    """Align two lists of statements, and yield the pairs of names at equal positions of aligned statements."""
    for i, k in align([item.token for item in mine], [item.token for item in other]):
        yield from zip(mine[i].names, other[k].names, strict=True)


def _only_kernels(before: Content, after: Content, left: list[Body], right: list[Body]) -> _Pairs:
    """Pair the unpaired kernels of two modules with one kernel each, regardless of similarity."""
    kernels = [[body for body in one.bodies if body.kind == "entry" and body.defined] for one in (before, after)]
    match kernels:
        case [[mine], [other]] if mine in left and other in right:
            return [(mine, other)]
        case _:
            return []


def _alike(left: list[Body], right: list[Body]) -> _Pairs:
    """Pair functions of which most statements are equal, most similar functions first."""
    if len(left) * len(right) > _MOST_TRIED:
        return []
    mine, others = ([Counter(item.token for item in body.items) for body in side] for side in (left, right))
    scored: list[tuple[float, int, int]] = []
    for i, one in enumerate(mine):
        for k, other in enumerate(others):
            likeness = (one & other).total() / max(one.total(), other.total(), 1)
            if left[i].kind == right[k].kind and left[i].defined == right[k].defined and likeness >= _LEAST:
                scored.append((-likeness, i, k))
    pairs: list[tuple[int, int]] = []
    for _, i, k in sorted(scored):
        if all(i != one and k != other for one, other in pairs):
            pairs.append((i, k))
    return [(left[i], right[k]) for i, k in pairs]
