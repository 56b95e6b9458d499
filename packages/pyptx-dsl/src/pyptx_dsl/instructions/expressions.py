"""Notation that groups instructions: `expr`, `scope`, `pipe`. Nothing is added to what stands inside."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyptx_dsl.naming import to_ptx
from pyptx_dsl.trace_context import active

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    from pyptx_dsl.registers.register import Reg

__all__ = ["Pipe", "PipeStep", "expr", "pipe", "scope"]


@contextmanager
def expr() -> Generator[None]:
    """Group the instructions of one Python expression: `with ptx.expr(): d = ((a - 8192) & mask) >> 4 | bits`.

    The PTX is that of the operators, in Python's order of evaluation; the block emits nothing of its own.
    """
    active("ptx.expr")
    yield


def scope() -> AbstractContextManager[None]:
    """Put the statements of a `with` block between `{` and `}`, a scope of PTX for variables and labels.

    Registers stay declared at the head of the body. Manual: "Control Flow Instructions: {}".
    """
    return active("ptx.scope").scope()


class Pipe:
    """A register on its way through a chain of instructions; see `pipe`."""

    __slots__ = ("register",)

    def __init__(self, register: Reg) -> None:
        """Start, or go on, with the result so far."""
        self.register = register

    def __getattr__(self, name: str) -> PipeStep:
        """Return the next instruction, to which modifiers may be added."""
        if name.startswith("__"):
            raise AttributeError(name)
        return PipeStep(self.register, (to_ptx(name),))


class PipeStep:
    """An instruction of a chain, before its call."""

    __slots__ = ("_source", "_words")

    def __init__(self, source: Reg, words: tuple[str, ...]) -> None:
        """Remember the words so far, and the register that comes in."""
        self._source = source
        self._words = words

    def __getattr__(self, name: str) -> PipeStep:
        """Return the instruction with one more word."""
        if name.startswith("__"):
            raise AttributeError(name)
        return PipeStep(self._source, (*self._words, to_ptx(name)))

    def __call__(self, dst: Reg, *operands: object, pred: Reg | None = None) -> Pipe:
        """Emit `words dst, <result so far>, operands`, and go on with `dst`."""
        active("ptx.pipe").emit(self._words, (dst, self._source, *operands), pred)
        return Pipe(dst)


def pipe(src: Reg) -> Pipe:
    """Chain instructions, each taking the result of the one before as its first source.

    `ptx.pipe(a).add.s32(b, -8192).and_.b32(c, 262016).shr.u32(d, 4)` emits three instructions in this order, one per
    call. The last result is `.register`.
    """
    return Pipe(src)
