"""Warp matrix wrappers in every type and shape: ptxas accepts the accepted calls and rejects the rejected ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.errors import InstructionUseError, OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import b1, b32, bf16, e4m3, f16, f32, f64, from_name, s8, s32, tf32, u32
from pyptx_ir.isa.table.wmma import FACTORS, SUMS
from pyptx_ir.toolchain import find_tool
from pyptx_ir.toolchain.runner import run

from .mma_forms import dense_forms, sparse_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).name
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")
VERSION = (9, 0)  # newest PTX version that ptxas 13.0 accepts
LINE = re.compile(r"^\s*(w?mma|ldmatrix|stmatrix|movmatrix)\..*;$")


class Bank:
    """Registers that every trace declares in the same order, so that an instruction's text is equal in all traces."""

    def __init__(self):
        self.held = {kind.name: list(reg.array(kind, 16)) for kind in (b32, f32, f64, s32)}
        self.address = reg.scalar(u32)

    def of(self, element, count):
        return self.held[element if element in self.held else "b32"][:count]


@dataclass(frozen=True)
class Call:
    name: str
    make: Callable[[Bank], object]


def sizes(shape):
    return tuple(int(part) for part in re.findall(r"\d+", shape))


def products(bank, form, call, **keywords):
    names = zip("dabc", form.types, form.counts, strict=True)
    parts = {which: bank.of(element, count) for which, element, count in names}
    dtypes = {f"dtype_{which}": from_name(element) for which, element in zip("dabc", form.types, strict=True)}
    call(shape=sizes(form.shape), **dtypes, **parts, **keywords)


def dense() -> Iterator[Call]:
    for form in {(each.shape, each.types): each for each in dense_forms()}.values():
        for words in variants(form):
            name = f"mma.sync {form.shape} {'.'.join(form.types)} {words}"
            yield Call(name, partial(products, form=form, call=ptx.mma.sync, **words))


def variants(form):
    yield from ({"bit_op": each} for each in ("xor", "and")) if form.bitwise else ({},)
    if form.saturates:
        yield {"satfinite": True}
    if form.rounds:
        yield from ({"rounding": each} for each in ("rn", "rz", "rm", "rp"))
    if form.any_layout:
        for a, b in product(("row", "col"), repeat=2):
            yield {"a_layout": a, "b_layout": b}


def sparse() -> Iterator[Call]:
    for form in sparse_forms():
        for selector, ordered in product(range(form.selectors), (False, True)):
            for satfinite in (False, True) if form.saturates else (False,):
                words = {"selector": selector, "ordered": ordered, "satfinite": satfinite}
                yield Call(f"mma.sp {form.shape} {form.types} {words}", partial(sparse_product, form=form, words=words))


def sparse_product(bank, form, words):
    products(bank, form, ptx.mma.sp.sync, metadata=bank.held["b32"][15], **words)


def opaque() -> Iterator[Call]:
    for share in (*FACTORS, *SUMS):
        for which, shape, element, layout in product(share.which, share.shapes, share.types, share.layouts):
            for space, stride in (("shared", None), ("global", 64), (None, 64)):
                words = {"layout": layout, "space": space, "stride": stride}
                yield Call(f"load {which} {shape} {element} {words}", partial(load, (which, shape, element), words))
                if which == "c":
                    yield Call(f"store {shape} {element} {words}", partial(store, (shape, element), words))


def load(matrix, words, bank):
    which, shape, element = matrix
    count = ptx.wmma.fragment(shape=sizes(shape), operand=which, dtype=from_name(element)).registers
    dst, dtype = bank.of(element, count), from_name(element)
    ptx.wmma.load(which, shape=sizes(shape), dtype=dtype, dst=dst, src=bank.address, **words)


def store(matrix, words, bank):
    shape, element = matrix
    count = ptx.wmma.fragment(shape=sizes(shape), operand="d", dtype=from_name(element)).registers
    src, dtype = bank.of(element, count), from_name(element)
    ptx.wmma.store(shape=sizes(shape), dtype=dtype, dst=bank.address, src=src, **words)


SQUARE = ("m16n16k16", "m8n32k16", "m32n8k16")
OPAQUE = [
    *((shape, "f16", d, c, {}) for shape in SQUARE for d in ("f16", "f32") for c in ("f16", "f32")),
    *((shape, "bf16", "f32", "f32", {}) for shape in SQUARE),
    *(
        (shape, a, "s32", "s32", {"satfinite": each})
        for shape in SQUARE
        for a in ("s8", "u8")
        for each in (True, False)
    ),
    ("m16n16k8", "tf32", "f32", "f32", {}),
    *(("m8n8k4", "f64", "f64", "f64", {"rounding": each}) for each in (None, "rz")),
    *(("m8n8k32", a, "s32", "s32", {}) for a in ("s4", "u4")),
    *(("m8n8k128", "b1", "s32", "s32", {"bit_op": each}) for each in ("xor", "and")),
]


def multiply(case, bank):
    shape, a, d, c, words = case
    fragments = {which: (t, ptx.wmma.fragment(shape=sizes(shape), operand=which, dtype=from_name(t)).registers)
                 for which, t in zip("dabc", (d, a, a, c), strict=True)}  # fmt: skip
    parts = {which: bank.of(*pair) for which, pair in fragments.items()}
    kinds = {"dtype_d": from_name(d), "dtype_a": from_name(a), "dtype_c": from_name(c)}
    ptx.wmma.mma(shape=sizes(shape), **kinds, **parts, **words)


MOVES = [
    *((ptx.ldmatrix, "m8n8", count, {"layout": f"x{count}", "trans": t}) for count in (1, 2, 4) for t in (True, False)),
    *((ptx.ldmatrix, "m16n16", 2 * n, {"layout": f"x{n}", "source": each}) for n in (1, 2)
      for each in (None, "b6x16_p32", "b4x16_p64")),
    *((ptx.ldmatrix, "m8n16", n, {"layout": f"x{n}", "source": each}) for n in (1, 2, 4)
      for each in ("b6x16_p32", "b4x16_p64")),
    *((ptx.stmatrix, "m8n8", count, {"layout": f"x{count}", "trans": t}) for count in (1, 2, 4) for t in (True, False)),
    *((ptx.stmatrix, "m16n8", count, {"layout": f"x{count}"}) for count in (1, 2, 4)),
]  # fmt: skip


def move(case, bank):
    call, shape, count, words = case
    registers = bank.held["b32"][:count]
    places = (
        {"dst": registers, "src": bank.address} if call is ptx.ldmatrix else {"regs": registers, "smem": bank.address}
    )
    call(shape=shape, **places, **words)


CALLS = [
    *dense(),
    *sparse(),
    *opaque(),
    *(Call(f"wmma.mma {case}", partial(multiply, case)) for case in OPAQUE),
    *(Call(f"{case[0].__name__} {case[1:]}", partial(move, case)) for case in MOVES),
    Call("movmatrix", lambda bank: ptx.movmatrix(*bank.held["b32"][:2])),
]


@cache
def traced(target):
    """Return a module of the calls accepted for the target, their instructions, and the errors of the other calls."""
    taken, refused = [], {}

    def k():
        bank = Bank()
        for call in CALLS:
            try:
                call.make(bank)
                taken.append(call.name)
            except InstructionUseError as error:
                refused[call.name] = str(error)

    text = kernel(k, arch=target, version=VERSION, block=(128, 1, 1)).ptx()
    lines = [line for line in text.splitlines() if LINE.match(line)]
    return text, dict(zip(taken, lines, strict=True)), refused


def judged(text, target, folder):
    """Return the line numbers at which ptxas reports errors in a module; ptxas generates no code."""
    (folder / "module.ptx").write_text(text, encoding="utf-8")
    outcome = run(
        find_tool("ptxas"), ["-arch=" + target.replace("sm_", "compute_"), "module.ptx", "-o", "nothing"], folder
    )
    found = {int(number) for number in re.findall(r"line (\d+); error", outcome.output)}
    assert bool(found) == bool(outcome.status), outcome.output
    return found


@pytest.mark.hopper
@pytest.mark.long
def test_every_call_runs_somewhere():
    everywhere = set().union(*(traced(target)[1] for target in TARGETS))
    assert {call.name for call in CALLS} == everywhere
    assert len(CALLS) > 600


@pytest.mark.ptxas
@pytest.mark.hopper
@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_takes_what_we_take(target, tmp_path):
    text, taken, _ = traced(target)
    assert judged(text, target, tmp_path) == set()
    assert taken


@pytest.mark.ptxas
@pytest.mark.hopper
@pytest.mark.parametrize("target", [target for target in TARGETS if target != "sm_120a"])
def test_what_we_refuse_at_the_users_line_ptxas_refuses_too(target, tmp_path):
    text, _, refused = traced(target)
    spelt = {name: line for other in TARGETS for name, line in traced(other)[1].items()}
    assert all(HERE in words and f"the target is {target}" in words for words in refused.values())
    kept = [line for line in text.splitlines() if not LINE.match(line)]
    place = max(number for number, line in enumerate(kept) if ".reg" in line) + 1
    foreign = [spelt[name] for name in refused]
    module = "\n".join([*kept[:place], *foreign, *kept[place:]]) + "\n"
    assert judged(module, target, tmp_path) == set(range(place + 1, place + 1 + len(foreign)))


# --- errors of wrong registers ------------------------------------------------------------------

RIGHT = {"shape": (16, 8, 16), "dtype_d": f32, "dtype_a": bf16, "dtype_b": bf16, "dtype_c": f32}


def refusal(body):
    found = []

    def k():
        with pytest.raises(OperandError) as error:
            body(Bank())
        found.append(str(error.value))
        ptx.ret()

    kernel(k, arch="sm_90a", block=(32, 1, 1)).ptx()
    return found[0]


WRONG = [
    (
        lambda bank: {"a": bank.of("b32", 2)},
        ["a must have 4 registers, got 2", "m16n8k16 a .bf16 needs 4 registers of .b32"],
    ),
    (
        lambda bank: {"a": bank.of("f32", 4)},
        ["a must be 4 registers of .b32", "got the .f32 register", "each with 2 elements"],
    ),
    (lambda bank: {"c": bank.of("f64", 4)}, ["c must be 4 registers of .f32 or .b32", "got the .f64 register"]),
    (lambda bank: {"rounding": "rz"}, ["no modifier 'rounding'", "types with this modifier: f64.f64.f64.f64"]),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=[words[0][:20] for _, words in WRONG])
def test_a_wrong_fragment_is_told_which_registers_are_due(change, words):
    def body(bank):
        parts = {"d": bank.of("f32", 4), "a": bank.of("b32", 4), "b": bank.of("b32", 2), "c": bank.of("f32", 4)}
        ptx.mma.sync(**RIGHT, **parts | change(bank))

    said = refusal(body)
    assert all(word in said for word in words), said
    assert HERE in said


MISTAKES = [
    (
        lambda bank: ptx.wmma.load("a", shape=(16, 16, 16), dtype=f64, dst=bank.of("f64", 4), src=bank.address),
        "use m8n8k4",
    ),
    (lambda bank: ptx.wmma.load("d", shape=(16, 16, 16), dtype=f16, dst=bank.of("b32", 4), src=bank.address), "which"),
    (
        lambda bank: ptx.wmma.load("a", shape=(16, 16, 16), dtype=f16, dst=bank.of("b32", 4), src=bank.address),
        "dst must have 8 registers, got 4",
    ),
    (lambda bank: multiply(("m8n8k128", "b1", "s32", "s32", {}), bank), "bit_op"),
    (lambda bank: multiply(("m16n16k16", "f16", "f32", "f32", {"bit_op": "xor"}), bank), "no modifier 'bit_op'"),
    (lambda bank: sparse_product(bank, next(sparse_forms()), {"selector": 4}), "selector must be 0 to 3"),
    (lambda bank: sparse_product(bank, next(sparse_forms()), {"satfinite": True}), "satfinite"),
]


@pytest.mark.parametrize(("body", "words"), MISTAKES, ids=[words for _, words in MISTAKES])
def test_a_mistake_is_named(body, words):
    assert words in refusal(body)


# --- fragments in kernels -----------------------------------------------------------------------


def test_a_lane_in_a_register_computes_its_row_and_column():
    def k():
        lane = reg.scalar(u32)
        fragment = ptx.mma.fragment(shape=(16, 8, 16), operand="a", dtype=bf16)
        fragment.row(lane, 2)
        fragment.column(lane, 5)

    body = kernel(k, arch="sm_90a", block=(32, 1, 1)).ptx().splitlines()
    words = [line.split()[0] for line in body if re.match(r"\s*(shr|and|shl|add)\.", line)]
    assert words == ["shr.u32", "add.u32", "and.b32", "shl.b32", "add.u32"]


def test_fragments_of_every_namespace_are_there():
    assert ptx.mma.fragment(shape=(16, 8, 32), operand="b", dtype=e4m3).registers == 2
    assert ptx.mma.sp.fragment(shape=(16, 8, 16), dtype=tf32).registers == 4
    assert ptx.mma.sp.metadata(shape=(16, 8, 64), dtype=s8).columns == 32
    assert ptx.wmma.fragment(shape=(8, 8, 128), operand="a", dtype=b1).registers == 1
