"""Shrink a failing program: delete statements, replace branches by their bodies, and reduce sizes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from . import programs as ast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ATTEMPTS: Final = 3000
SIZES: Final = (1, 2, 4, 8, 32, 33, 34, 36, 40, 48, 64, 65, 96)


def shrunk(program: ast.Program, fails: Callable[[ast.Program], bool], attempts: int = ATTEMPTS) -> ast.Program:
    """Return the smallest program found that `fails`; each step tries the largest reductions first."""
    found = True
    while found:
        found = False
        for smaller in _smaller(program):
            attempts -= 1
            if attempts < 0:
                return program
            if fails(smaller):
                program, found = smaller, True
                break
    return program


def _smaller(program: ast.Program) -> Iterator[ast.Program]:
    if program.ctas > 1:
        yield replace(program, ctas=1)
    for threads in SIZES:
        if threads < program.threads:
            yield _resized(program, threads)
    if program.functions:
        yield replace(program, functions=())
    for body in _shorter(program.body):
        yield replace(program, body=body)
    for at, function in enumerate(program.functions):
        for body in _shorter(function.body):
            others = (*program.functions[:at], replace(function, body=body), *program.functions[at + 1 :])
            yield replace(program, functions=others)


def _resized(program: ast.Program, threads: int) -> ast.Program:
    """Return the program with fewer threads; thread counts of whole CTAs change with it."""
    before, after = ast.WARP * -(-program.threads // ast.WARP), ast.WARP * -(-threads // ast.WARP)

    def fitted(body: ast.Body) -> ast.Body:
        return tuple(one(ast.with_bodies(each, tuple(map(fitted, ast.bodies(each))))) for each in body)

    def one(each: ast.Statement) -> ast.Statement:
        match each:
            case ast.Sync(count=count) | ast.SyncReduce(count=count) | ast.Arrive(count=count) if count == before:
                return replace(each, count=after)
            case ast.Initialize(count=count) if count == program.threads:
                return replace(each, count=threads)
        return each

    return replace(program, threads=threads, body=fitted(program.body))


def _shorter(body: ast.Body) -> Iterator[ast.Body]:
    """Yield smaller versions of a body; versions without long runs of statements come first."""
    size = len(body)
    while size:
        for start in range(0, len(body), size):
            yield body[:start] + body[start + size :]
        size //= 2
    for at, each in enumerate(body):
        for other in _simpler(each):
            yield (*body[:at], *other, *body[at + 1 :])


def _simpler(each: ast.Statement) -> Iterator[ast.Body]:
    """Yield simpler statement lists that may replace a statement."""
    inner = ast.bodies(each)
    yield from (one for one in inner if one and not (isinstance(each, ast.Loop) and _leaves(one)))
    for at, one in enumerate(inner):
        for shorter in _shorter(one):
            yield (ast.with_bodies(each, (*inner[:at], shorter, *inner[at + 1 :])),)
    match each:
        case ast.If(guarded=True):
            yield (replace(each, guarded=False),)
        case ast.Loop(rotated=True):
            yield (replace(each, rotated=False),)
        case ast.Sync(count=int()) | ast.SyncReduce(count=int()):
            yield (replace(each, count=None),)
        case ast.Let(op=op) if op != "mov":
            yield (replace(each, op="mov"),)
            yield (replace(each, op="mov", a=each.b),)
    names = {field.name for field in fields(each)}
    for name in names & {"a", "b", "mask", "condition", "count", "index"}:
        value = getattr(each, name)
        if isinstance(value, str):
            for constant in (0, 1) if name != "mask" else (0xFFFFFFFF,):
                yield (replace(each, **{name: constant}),)


def _leaves(body: ast.Body) -> bool:
    """Return whether a body breaks or continues a loop around it."""
    return any(
        isinstance(each, ast.Break | ast.Continue)
        or (isinstance(each, ast.If) and (_leaves(each.then) or _leaves(each.other)))
        for each in body
    )
