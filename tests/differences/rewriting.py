"""Rewritten modules that differ only in names and formatting."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyptx_ir.syntax import emit, evolve, parse
from pyptx_ir.syntax import nodes as n
from pyptx_ir.syntax.style import formatted
from pyptx_ir.syntax.style.known import KNOWN

from .names import expanded, labels, memory, private, registers, rewritten, usual

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")


def renamed(module: n.Module, chance: Random, *, inside: bool = False) -> n.Module:
    """Rename every module-private name, some to each other's old names, and shuffle register declarations.

    With `inside`, rename only inside functions.
    """
    outer = {} if inside else permuted(private(module), "$other_", chance)
    body = [
        _function(node, outer, chance) if isinstance(node, n.Function) else rewritten(node, _namer(outer))
        for node in module.body
    ]
    return n.Module(tuple(body))


def permuted(names: list[str], prefix: str, chance: Random) -> dict[str, str]:
    """Return a one-to-one map of names to a permutation of themselves, or to new names."""
    distinct = list(dict.fromkeys(names))
    others = list(distinct) if chance.random() < 0.5 else [f"{prefix}{i}" for i in range(len(distinct))]
    chance.shuffle(others)
    return dict(zip(distinct, others, strict=True))


def _namer(mapping: dict[str, str]) -> Callable[[str], str]:
    def name(text: str) -> str:
        base, dot, selector = text.partition(".")
        found = mapping.get(base) or mapping.get(usual(base)) or base
        return found + dot + selector

    return name


def _function(node: n.Function, outer: dict[str, str], chance: Random) -> n.Function:
    own = registers(node)
    mapping = {**outer, **permuted(list(own), "%other_", chance), **permuted(labels(node), "$place_", chance)}
    mapping |= permuted(memory(node), "other_", chance)
    done: n.Function = rewritten(node, _namer(mapping))
    return done if done.body is None else evolve(done, body=_block(done.body, mapping, chance))


def _block(block: n.Block, mapping: dict[str, str], chance: Random) -> n.Block:
    """Declare the registers of a block separately, in another order, with their new names."""
    body: list[Any] = []
    for node in block.body:
        if isinstance(node, n.Block):
            body.append(_block(node, mapping, chance))
        elif isinstance(node, n.RegisterDeclaration):
            one = n.Function("func", "", body=n.Block((node,)))
            listed = expanded((mapping[name], like) for name, like in registers(one).items())
            chance.shuffle(listed)
            body += listed
        else:
            body.append(node)
    return replace(block, body=tuple(body))


def respelt(module: n.Module, chance: Random) -> n.Module:
    """Rewrite the literals of a module without changing their values."""
    return n.Module(tuple([rewritten(node, str, lambda text: _respelt(text, chance)) for node in module.body]))


def _respelt(text: str, chance: Random) -> str:
    sign, digits = ("-", text[1:]) if text[:1] == "-" else ("", text)
    if INTEGER.fullmatch(text):
        number = int(digits)
        return sign + chance.choice((f"{number}", f"0x{number:x}", f"0X{number:X}", f"0b{number:b}", f"0{number:o}"))
    if digits[:2] in ("0f", "0F", "0d", "0D"):
        return sign + digits[0] + chance.choice((digits[1].upper(), digits[1].lower())) + digits[2:].lower()
    if "." in digits and digits[:1].isdigit():
        return sign + f"0d{struct.pack('>d', float(digits)).hex().upper()}"
    return text


def laid_out(module: n.Module, chance: Random) -> str:
    """Emit a module in another formatting style, with added comments."""
    text = formatted(emit(module), KNOWN[chance.choice(sorted(KNOWN))])
    ends = ("\n", "\n\n", "\n// a comment\n", " /* one */\n")
    return re.sub(r"\n(?=[\t ]+[a-z@])", lambda _: chance.choice(ends), text)


def rewriting(text: str, chance: Random, *, inside: bool = False) -> str:
    """Return the text of an equivalent module; with `inside`, the names of functions and variables stay."""
    return laid_out(respelt(renamed(parse(text), chance, inside=inside), chance), chance)
