"""Random kernels in which two CTAs compute one word each with exchanged inputs, and an independent reference for them.

CTA 0 has the inputs a, b and c, CTA 1 has b, a and c. Both execute the same instructions (arithmetic, comparisons,
`selp`, `set`, `slct`, guarded moves, branches around moves) and store their results at one address. The race is benign
if the results are equal for all inputs; the reference computes them with NumPy for some thousand inputs and knows when
they are not. Many inputs are equal to constants that a kernel computes, and that no literal of it shows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[Any]

__all__ = ["DECLARED", "STORES", "Kernel", "random_kernel"]

DECLARED: Final = ".reg .pred %c<300>;\n.reg .b32 %v<300>;\n.reg .f32 %e<300>;\n"
"""Declarations of a kernel's registers."""
STORES: Final = 6
"""Racing stores in a kernel, each with an address and a value of its own."""
_CONSTANTS: Final = (0, 1, 2, 3, 5, 31, 64, 100, 0x404040, 0x3F000000, 0x3F800000, 0x7FFFFFFF, -1, -2, -(1 << 31))
_POINTS: Final = 6000
_COMPUTED: Final = 2
"""Constants that a kernel computes; one in four inputs is one of them."""
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Values]]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_INTEGERS: Final[dict[str, Callable[[Any, Any], Values]]] = {
    "add.s32": np.add, "sub.s32": np.subtract, "mul.lo.s32": np.multiply, "min.s32": np.minimum, "max.s32": np.maximum,
    "xor.b32": np.bitwise_xor, "and.b32": np.bitwise_and, "or.b32": np.bitwise_or,
}  # fmt: skip
_FLOATS: Final[dict[str, Callable[[Any, Any], Values]]] = {
    "add.f32": np.add, "sub.f32": np.subtract, "mul.f32": np.multiply, "min.f32": np.minimum, "max.f32": np.maximum,
}  # fmt: skip
_LOGIC: Final[dict[str, Callable[[Any, Any], Values]]] = {
    "and.pred": np.logical_and, "or.pred": np.logical_or, "xor.pred": np.logical_xor,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A register or literal, and its contents for each input in CTA 0 and in CTA 1."""

    register: str
    ctas: tuple[Values, Values]

    def differs(self, some: Values) -> bool:
        """Return whether the contents in the two CTAs differ for one of `some` inputs: as numbers, for floats."""
        return bool((some & (self.ctas[0] != self.ctas[1])).any())


@dataclass(frozen=True, slots=True)
class Kernel:
    """The PTX of a kernel body, and for each of its stores whether the CTAs store different values for an input."""

    text: str
    differs: list[bool]


def _inputs(kind: str, computed: Values, rng: np.random.Generator) -> tuple[Values, Values, Values]:
    """Return some thousand inputs a, b, c; floats are small integers, whose sums and products are exact."""
    special = rng.random((3, _POINTS)) < 0.25
    if kind == "f32":
        chosen = np.where(special, rng.choice(computed, (3, _POINTS)), rng.integers(-4, 5, (3, _POINTS)))
        a, b, c = chosen.astype(np.float32) * (np.arange(_POINTS) > 0)
        return a, b, c
    edges = np.array([*_CONSTANTS, *range(-8, 9), 101, 99, 30, 32], np.int64)
    wide = rng.integers(-(1 << 31), 1 << 31, (3, _POINTS))
    chosen = np.where(rng.random((3, _POINTS)) < 0.7, rng.choice(edges, (3, _POINTS)), wide)
    chosen = np.where(special, rng.choice(computed, (3, _POINTS)), chosen)
    near = rng.random(_POINTS)
    chosen[1] = np.where(near < 0.2, chosen[0] + rng.integers(-2, 3, _POINTS), chosen[1])
    chosen[:, 0] = 0
    a, b, c = ((each & 0xFFFFFFFF).astype(np.uint32).view(np.int32) for each in chosen)
    return a, b, c


@dataclass(slots=True)
class _Writer:
    """Writes instructions and computes their results; `pairs` are values that the CTAs have exchanged."""

    rng: random.Random
    kind: str
    computed: Values
    lines: list[str] = field(default_factory=list)
    pairs: list[tuple[Value, Value]] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    predicates: list[Value] = field(default_factory=list)
    count: int = 0
    same_path: Values = field(default_factory=lambda: np.ones(_POINTS, np.bool_))

    @property
    def suffix(self) -> str:
        return "f32" if self.kind == "f32" else "b32"

    def name(self, prefix: str) -> str:
        self.count += 1
        return f"%{prefix}{self.count}"

    def register(self) -> str:
        return self.name("e" if self.kind == "f32" else "v")

    def compute(self, name: str, one: Value, other: Value) -> Value:
        """Write an instruction of two sources."""
        logical = name in _LOGIC
        function = (_INTEGERS | _FLOATS | _LOGIC)[name]
        with np.errstate(over="ignore"):
            ctas = [function(*pair) for pair in zip(one.ctas, other.ctas, strict=True)]
        found = Value(self.name("c") if logical else self.register(), (ctas[0], ctas[1]))
        self.lines.append(f"{name} {found.register}, {one.register}, {other.register};")
        return found

    def compare(self, name: str, one: Value, other: Value, kind: str) -> Value:
        """Write a comparison."""
        view = {"u32": np.uint32, "s32": np.int32, "f32": np.float32}[kind]
        ctas = [_COMPARISONS[name](a.view(view), b.view(view)) for a, b in zip(one.ctas, other.ctas, strict=True)]
        found = Value(self.name("c"), (ctas[0], ctas[1]))
        self.lines.append(f"setp.{name}.{kind} {found.register}, {one.register}, {other.register};")
        return found

    def choose(self, by: Value, one: Value, other: Value, form: str) -> Value:
        """Write `by ? one : other` as `selp`, a guarded move or a branch."""
        ctas = [np.where(*each) for each in zip(by.ctas, one.ctas, other.ctas, strict=True)]
        found = Value(self.register(), (ctas[0], ctas[1]))
        name, kind = found.register, self.suffix
        if form == "selp":
            self.lines.append(f"selp.{kind} {name}, {one.register}, {other.register}, {by.register};")
        elif form == "guard":
            self.lines += [
                f"mov.{kind} {name}, {other.register};",
                f"@{by.register} mov.{kind} {name}, {one.register};",
            ]
        else:
            label = f"L{self.count}"
            self.same_path &= np.logical_and(*(each == each[0] for each in by.ctas))
            self.lines += [
                f"mov.{kind} {name}, {one.register};",
                f"@{by.register} bra {label};",
                f"mov.{kind} {name}, {other.register};",
                f"{label}:",
            ]
        return found

    def set(self, name: str, one: Value, other: Value, kind: str) -> Value:
        """Write a comparison whose result is a number: 1.0 or 0.0 as f32, else all ones or zero."""
        view = {"u32": np.uint32, "s32": np.int32, "f32": np.float32}[kind]
        true, to = (1, np.float32) if self.kind == "f32" else (-1, np.int32)
        ctas = [_COMPARISONS[name](a.view(view), b.view(view)) for a, b in zip(one.ctas, other.ctas, strict=True)]
        found = Value(self.register(), (ctas[0] * to(true), ctas[1] * to(true)))
        result = "f32" if self.kind == "f32" else "u32"
        self.lines.append(f"set.{name}.{result}.{kind} {found.register}, {one.register}, {other.register};")
        return found

    def by_sign(self, one: Value, other: Value, by: Value) -> Value:
        """Write `by >= 0 ? one : other` as `slct`."""
        ctas = [np.where(c >= 0, a, b) for a, b, c in zip(one.ctas, other.ctas, by.ctas, strict=True)]
        found = Value(self.register(), (ctas[0], ctas[1]))
        sign = "f32" if self.kind == "f32" else "s32"
        sources = ", ".join(each.register for each in (one, other, by))
        self.lines.append(f"slct.{self.suffix}.{sign} {found.register}, {sources};")
        return found

    def sum(self) -> Value:
        """Write the addition of two literals whose sum is one of the constants `computed`."""
        total, part = self.rng.choice(self.computed), self.rng.randint(5, 99)
        one, other = (self.literal(np.full(_POINTS, each, self.computed.dtype)) for each in (part, total - part))
        moved = Value(self.register(), one.ctas)
        self.lines.append(f"mov.{self.suffix} {moved.register}, {one.register};")
        return self.compute("add.f32" if self.kind == "f32" else "add.s32", moved, other)

    def literal(self, held: Values) -> Value:
        """Return the literal of a constant, given for each input."""
        return Value(f"0{'f' if self.kind == 'f32' else 'x'}{int(held[:1].view(np.uint32)[0]):08X}", (held, held))

    def constant(self) -> Value:
        """Return a constant: a literal, or a register that holds one."""
        value = self.rng.choice(_CONSTANTS[:4] if self.kind == "f32" else _CONSTANTS)
        literal = self.literal(np.full(_POINTS, value, self.computed.dtype))
        if self.rng.random() < 0.8:
            return literal
        found = Value(self.register(), literal.ctas)
        self.lines.append(f"mov.{self.suffix} {found.register}, {literal.register};")
        return found

    def any_value(self) -> Value:
        """Return a value of either kind, or a constant."""
        if self.rng.random() < 0.2:
            return self.constant()
        return self.rng.choice([*self.values, *(each for pair in self.pairs for each in pair)])

    def any_predicate(self) -> Value:
        """Return a predicate, possibly a new one."""
        if self.predicates and self.rng.random() < 0.6:
            return self.rng.choice(self.predicates)
        kind = "f32" if self.kind == "f32" else self.rng.choice(("s32", "u32"))
        return self.compare(self.rng.choice([*_COMPARISONS]), self.any_value(), self.any_value(), kind)

    def exchange(self, one: Value, other: Value) -> Value:
        """Record a pair of values that the CTAs have exchanged; return the first."""
        self.pairs.append((one, other))
        return one

    def step(self) -> None:
        """Write one random step, often one that keeps values equal or exchanged, and record the value that it gives."""
        names = [*(_FLOATS if self.kind == "f32" else _INTEGERS)]
        kind = "f32" if self.kind == "f32" else self.rng.choice(("s32", "u32"))
        form, name = self.rng.choice(("selp", "selp", "guard", "branch")), self.rng.choice(names)
        comparison, (one, other) = self.rng.choice([*_COMPARISONS]), self.rng.choice(self.pairs)
        match self.rng.choices(range(10), (3, 3, 4, 2, 2, 4, 2, 2, 2, 3))[0]:
            case 0:  # the same instruction with a common source on an exchanged pair
                by = self.rng.choice(self.values)
                found = self.exchange(self.compute(name, one, by), self.compute(name, other, by))
            case 1:  # an instruction, commutative if possible, of the two
                found = self.compute(name, one, other)
            case 2:  # the smaller or larger of the two
                by = self.compare(comparison, one, other, kind)
                self.predicates.append(by)
                found = self.choose(by, *self.rng.sample((one, other), 2), form)
            case 3:  # a pair ordered by another pair
                by = self.compare(comparison, *self.rng.choice(self.pairs), kind)
                found = self.exchange(self.choose(by, one, other, form), self.choose(by, other, one, form))
            case 4:
                by = self.compute(self.rng.choice([*_LOGIC]), self.any_predicate(), self.any_predicate())
                self.predicates.append(by)
                found = self.choose(by, *self.rng.sample((one, other), 2), form)
            case 5:
                found = self.choose(self.any_predicate(), self.any_value(), self.any_value(), form)
            case 6:
                found = self.set(comparison, *self.rng.choice(((one, other), (self.any_value(), self.sum()))), kind)
            case 7:
                found = self.by_sign(*self.rng.sample((one, other), 2), self.any_value())
            case 8:  # a constant that a kernel computes decides
                by = self.compare(self.rng.choice(("eq", "ne")), self.any_value(), self.sum(), kind)
                self.predicates.append(by)
                found = self.choose(by, *self.rng.sample((one, other), 2), form)
            case _:
                found = self.compute(name, self.any_value(), self.any_value())
        self.values.append(found)


def random_kernel(seed: int) -> Kernel:
    """Return the kernel of a seed; its array has the words of the stores, then a, b and c as f32, a, b and c as s32."""
    rng, differs = random.Random(seed), []
    lines = ["mov.u32 %r1, %ctaid.x;", "mad.wide.u32 %rd2, %r1, 4, %rd0;"]
    lines += ["xor.b32 %r1, %r1, 1;", "mad.wide.u32 %rd3, %r1, 4, %rd0;"]
    for number, kind in enumerate(("f32", "s32")):
        numbers, at = np.random.default_rng(seed), 4 * STORES + 12 * number
        if kind == "f32":
            computed = numbers.integers(-99, 99, _COMPUTED).astype(np.float32)
        else:
            computed = numbers.integers(-(1 << 31), 1 << 31, _COMPUTED).astype(np.int32)
        writer = _Writer(rng, kind, computed, count=100 * number)
        a, b, c = _inputs(kind, computed, numbers)
        one, other, common = (Value(writer.register(), each) for each in ((a, b), (b, a), (c, c)))
        writer.pairs.append((one, other))
        writer.values.append(common)
        writer.lines += [
            f"ld.global.{writer.suffix} {one.register}, [%rd2+{at}];",
            f"ld.global.{writer.suffix} {other.register}, [%rd3+{at}];",
            f"ld.global.{writer.suffix} {common.register}, [%rd0+{at + 8}];",
        ]
        for _ in range(rng.randint(2, 5)):
            writer.step()
        for _ in range(STORES // 2):
            writer.step()
            value = writer.values[-1]
            writer.lines.append(f"st.global.{writer.suffix} [%rd0+{4 * len(differs)}], {value.register};")
            differs.append(value.differs(writer.same_path))
        lines += writer.lines
    return Kernel(DECLARED + "\n".join(lines), differs)
