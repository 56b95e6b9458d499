"""Which function of one module is which of the other."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from pyptx_ir.diff.items import Body
from pyptx_ir.diff.pairing import pair_by_key

if TYPE_CHECKING:
    from collections.abc import Hashable

    from pyptx_ir.diff.items import Content

BodyPair: TypeAlias = tuple[Body | None, Body | None]

_LEAST: Final = 0.5  # of the items of the larger of two functions must be alike where their names differ
_MOST_TRIED: Final = 4096  # pairs of functions


def match_bodies(before: Content, after: Content) -> list[BodyPair]:
    """Pair the bodies of two modules, in the order of the second; what is gone stands last.

    First by name; but a function that nobody outside can ask for is first looked for by what it does, for its name is
    no more than a compiler's choice. Then by what they do, then by likeness.
    """
    partners: dict[int, Body] = {}
    left, right = before.bodies, after.bodies
    for key in (_public_name, _name_and_tokens, _tokens, _name):
        found, left, right = pair_by_key(left, right, partial(key, content=before), partial(key, content=after))
        partners |= {id(other): mine for mine, other in found}
    alike = _alike(left, right)
    partners |= {id(other): mine for mine, other in alike}
    still = {id(mine) for mine, _ in alike}
    gone = [body for body in left if id(body) not in still]
    return [*((partners.get(id(body)), body) for body in after.bodies), *((body, None) for body in gone)]


def _name(body: Body, content: Content) -> Hashable:  # noqa: ARG001 - keys are called alike
    return body.kind, body.defined, body.name


def _public_name(body: Body, content: Content) -> Hashable:
    public = body.declaration < 0 or content.declarations[body.declaration].public
    return _name(body, content) if public else None


def _name_and_tokens(body: Body, content: Content) -> Hashable:
    return body.name, _tokens(body, content)


def _tokens(body: Body, content: Content) -> Hashable:  # noqa: ARG001 - keys are called alike
    return tuple(item.token for item in body.items)


def _alike(left: list[Body], right: list[Body]) -> list[tuple[Body, Body]]:
    """Pair functions whose items are mostly the same, the most alike first."""
    if len(left) * len(right) > _MOST_TRIED:
        return []
    mine, others = ([Counter(item.token for item in body.items) for body in side] for side in (left, right))
    scored: list[tuple[float, int, int]] = []
    for i, one in enumerate(mine):
        for k, other in enumerate(others):
            likeness = (one & other).total() / max(one.total(), other.total())
            if left[i].kind == right[k].kind and left[i].defined == right[k].defined and likeness >= _LEAST:
                scored.append((-likeness, i, k))
    pairs: list[tuple[Body, Body]] = []
    taken: set[tuple[str, int]] = set()
    for _, i, k in sorted(scored):
        if not taken & {("left", i), ("right", k)}:
            taken |= {("left", i), ("right", k)}
            pairs.append((left[i], right[k]))
    return pairs
