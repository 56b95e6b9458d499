"""Every form of the plugin's table that sm_90a has can be written through a wrapper, and comes out as the table has it.

The forms are the table's own: each word and each type of every row, and every two words of it together. What the calls
of `calls.py` do not emit is written word by word: words become options, and the call must emit the form again. Under
`PYPTX_KERNELS=all` these are all of them; else each word and each pair of neighbours of each instruction is among them.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from pyptx_arch_hopper.table.chapters import ROWS
from pyptx_dsl import ptx, reg
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import from_name
from pyptx_ir.isa.check import TABLE_VERSION
from pyptx_ir.isa.forms import forms
from pyptx_ir.isa.table.words import WORDS
from pyptx_ir.isa.targets import includes

from .calls import Bench, calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TARGET = "sm_90a"
COMPLETION = "mbarrier::complete_tx::bytes"

# Other words for the same: a pattern, what stands for it in a comparison, and why it is no other instruction.
SAME = (
    (r"^membar\.proxy", "fence.proxy", 'membar is a synonym of fence. Manual: "membar, fence"'),
    (r"\.weak", "", "what has no memory ordering is weak"),
    (r"\.tile(?!.*\.b1024)", "", "a tensor copy without a mode copies a tile"),
    (r"\.multicast::cluster::16b", ".multicast::cluster", "a mask of blocks has 16 bits unless it says 32"),
    (r"^(multimem\.(?:ld_reduce|st|red)\b.*?)\.global", r"\1", "a global address is a generic one"),
    (r"^multimem\.red\.relaxed\.sys", "multimem.red", "without an order, a reduction is relaxed, at the widest scope"),
    (r"^(stmatrix.*)\.shared::cta", r"\1.shared", "shared memory without more is the block's own"),
)
# What only ptx.inst writes: patterns, and why no wrapper does.
UNSPELT = (
    (r"(mapa|getctarank)\.(u32|shared::cluster\.u64)", "shared addresses have 32 bits here, and generic ones 64"),
    (r"stmatrix[^:]*(?<!shared)\.b16", "ptx.stmatrix takes addresses of shared memory"),
)


def canonical(opcode: str) -> str:
    for pattern, same, _ in SAME:
        opcode = re.sub(pattern, same, opcode)
    return opcode


def needed() -> Iterator[str]:
    """Yield the opcodes of all forms of sm_90a, but for products: `calls.py` writes each of these out."""
    for row in ROWS:
        if row.opcode == "wgmma" or not any(includes(TARGET, target) for target in row.targets):
            continue
        for form in forms(row):
            opcode = form.split()[0].rstrip(";")
            if all(there(word) for word in opcode.split(".")):
                yield opcode


def there(word: str) -> bool:
    """Tell whether sm_90a has what a word needs."""
    targets = WORDS.get(word, ((), ""))[1].split()
    return not targets or any(includes(TARGET, target) for target in targets)


def unspelt(opcode: str) -> bool:
    return any(re.fullmatch(pattern, opcode) for pattern, _ in UNSPELT)


class Words:
    """The words of an opcode, taken away one by one as options are made of them."""

    def __init__(self, opcode: str) -> None:
        self.left = opcode.split(".")

    def has(self, word: str) -> bool:
        """Take a word away; tell whether it was there."""
        found = word in self.left
        if found:
            self.left.remove(word)
        return found

    def one(self, *choices: str) -> str | None:
        """Take away the first of some words that is there."""
        return next((word for word in choices if self.has(word)), None)

    def order(self) -> dict[str, Any]:
        """Take away a memory ordering, as the wrappers' `sem` and `scope`."""
        sem = self.one("weak", "relaxed", "acquire", "release")
        scope = self.one("cta", "cluster", "gpu", "sys")
        self.has("b128")
        return {name: value for name, value in (("sem", sem), ("scope", scope)) if value}

    def kind(self) -> Any:
        """Take away the last word, a type."""
        return from_name(self.left.pop())


OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def _hint(words: Words, b: Bench) -> dict[str, Any]:
    return {"cache_hint": b.u64} if words.has("L2::cache_hint") else {}


def _bulk(words: Words, b: Bench) -> None:
    bulk = ptx.cp.async_.bulk
    if words.has("wait_group"):
        limit = words.one("sync_restrict::proxy::async")
        bulk.wait_group(0, read=words.has("read"), restrict=limit and limit.partition("::")[2])
    elif words.has("bulk_group"):
        bulk.store(b.u64, b.tile, 64, **words.order(), **_hint(words, b))
    elif "global" not in words.left:
        bulk.send(b.u32, b.tile, 64, mbar=b.u32, **words.order())
    else:
        words.has("global")
        more: dict[str, Any] = {"ignore": (b.u32, 3)} if words.has("ignore_oob") else {}
        if words.one("multicast::cluster", "multicast::cluster::16b"):
            more["multicast_mask"] = b.u16
        space = words.one("shared::cluster", "shared::cta") or ""
        bulk.load(b.tile, b.u64, 64, mbar=b.bar[0], space=space, **more, **words.order(), **_hint(words, b))


def _bulk_reduction(words: Words, b: Bench) -> None:
    reduce, kind, op = ptx.cp.reduce.async_.bulk, words.kind(), words.one(*OPERATIONS) or ""
    scope = words.order().get("scope")
    if words.has("bulk_group"):
        more = {"noftz": words.has("noftz"), **_hint(words, b)}
        reduce.store(op, kind, b.u64, b.tile, 64, scope=scope, **more)
    else:
        reduce.send(op, kind, b.u32, b.tile, 64, mbar=b.u32, scope=scope)


def _tensor(words: Words, b: Bench) -> None:
    rank = int((words.one("1d", "2d", "3d", "4d", "5d") or "")[0])
    copy, coord = getattr(ptx.cp.async_.bulk, f"tensor_{rank}d"), (b.u32,) * rank
    op = words.one(*OPERATIONS)
    more: dict[str, Any] = _hint(words, b)
    mode = words.one("tile", "im2col", "im2col_no_offs")
    more |= {"mode": mode} if mode else {}
    more |= {"offsets": (b.u16,) * (rank - 2)} if mode == "im2col" else {}
    if op is not None:
        copy.reduce(op, dst=b.u64, src=b.tile[0], coord=coord, **more)
    elif words.has("prefetch"):
        copy.prefetch(src=b.u64, coord=coord, **more)
    elif words.has("bulk_group"):
        copy.store(dst=b.u64, src=b.tile[0], coord=coord, **more)
    else:
        if words.one("multicast::cluster", "multicast::cluster::16b"):
            more["multicast_mask"] = b.u16
        space = words.one("shared::cluster", "shared::cta")
        copy(dst=b.tile[0], src=b.u64, coord=coord, mbar=b.bar[0], space=space, **more)


def _multimem(words: Words, b: Bench) -> None:
    kind = words.kind()
    op = words.one(*OPERATIONS) or ""
    count = int((words.one("v2", "v4", "v8") or "v0")[1:])
    held = reg.scalar({"f16": from_name("b16"), "bf16": from_name("b16")}.get(kind.name, kind) if count else kind)
    value = [held] * count if count else held
    name = words.left[1]
    order = {key: each for key, each in words.order().items() if each != "weak"}
    if name == "ld_reduce":
        acc = words.one("acc::f32", "acc::f16")
        more = {"acc": acc.partition("::")[2]} if acc else {}
        ptx.multimem.ld_reduce(op, kind, value, b.u64, **order, **more)
    elif name == "st":
        ptx.multimem.st(kind, b.u64, value, **order)
    else:
        ptx.multimem.red(op, kind, b.u64, value, **(order or {"scope": "sys"}))


def _multimem_copy(words: Words, b: Bench) -> None:
    ptx.multimem.cp.async_.bulk(b.u64, b.tile, 64, **words.order())


def _multimem_reduction(words: Words, b: Bench) -> None:
    kind, op, scope = words.kind(), words.one(*OPERATIONS) or "", words.order().get("scope")
    ptx.multimem.cp.reduce.bulk(op, kind, b.u64, b.tile, 64, noftz=words.has("noftz"), scope=scope)


def _store(words: Words, b: Bench) -> None:
    kind, near = words.kind(), words.has("shared::cluster")
    count = int((words.one("v2", "v4") or "v0")[1:])
    held = reg.scalar(kind)
    at, space = (b.u32, "shared::cluster") if near else (b.u64, "generic")
    value = [held] * count if count else held
    ptx.st_async(kind, at, value, mbar=at, weak=words.has("weak"), space=space)


def _reduction(words: Words, b: Bench) -> None:
    kind, near = words.kind(), words.has("shared::cluster")
    at, space = (b.u32, "shared::cluster") if near else (b.u64, "generic")
    ptx.red_async(words.one(*OPERATIONS) or "", kind, at, reg.scalar(kind), mbar=at, space=space)


CONSTANT_FIELDS = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode", "swizzle_atomicity")


def _edit(words: Words, b: Bench) -> None:
    field, kind = words.left[3], words.left[-1]
    space = words.one("global", "shared::cta") or "generic"
    ordinal = 1 if field in {"box_dim", "global_dim", "global_stride", "element_stride"} else None
    value = 0 if field in CONSTANT_FIELDS else b.u64 if kind == "b64" else b.u32
    ptx.tensormap.replace(field, b.u32 if space == "shared::cta" else b.u64, value, ordinal=ordinal, space=space)


def _map_copy(words: Words, b: Bench) -> None:
    ptx.tensormap.cp_fenceproxy(b.u64, b.tile, words.one("cta", "cluster", "gpu", "sys") or "")


def _map_fence(words: Words, b: Bench) -> None:
    scope = words.one("cta", "cluster", "gpu", "sys") or ""
    if words.has("acquire"):
        ptx.fence.proxy_tensormap_acquire(b.u64, scope)
    else:
        ptx.fence.proxy_tensormap_release(scope)


def _read_fence(words: Words, b: Bench) -> None:
    del b
    ptx.fence.proxy_async_generic_release_read(words.one("cta", "cluster") or "")


def _stmatrix(words: Words, b: Bench) -> None:
    count = int((words.one("x1", "x2", "x4") or "x0")[1:])
    layout, space = f"x{count}", words.one("shared", "shared::cta")
    address = b.u32 if space else b.u64
    ptx.stmatrix(smem=ptx.addr(address), regs=list(b.words)[:count], layout=layout, trans=words.has("trans"))


# By how an opcode begins, the longest beginning first: what writes it.
SPELLERS: dict[str, Callable[[Words, Bench], None]] = {
    "cp.async.bulk.tensor": _tensor,
    "cp.async.bulk.prefetch.tensor": _tensor,
    "cp.reduce.async.bulk.tensor": _tensor,
    "cp.reduce.async.bulk": _bulk_reduction,
    "cp.async.bulk": _bulk,
    "multimem.cp.reduce": _multimem_reduction,
    "multimem.cp": _multimem_copy,
    "multimem": _multimem,
    "st.async": _store,
    "red.async": _reduction,
    "tensormap.replace": _edit,
    "tensormap.cp_fenceproxy": _map_copy,
    "fence.proxy.tensormap": _map_fence,
    "fence.proxy.async::generic.release.sync_restrict::shared::cluster::read": _read_fence,
    "stmatrix": _stmatrix,
}


def sample(opcodes: list[str]) -> list[str]:
    """Return the opcodes that have a word, or two words in a row, that none before them has."""
    seen: set[tuple[str, ...]] = set()
    found = []
    for opcode in opcodes:
        words = opcode.split(".")
        told = {(*words[:2], *words[at : at + count]) for at in range(2, len(words)) for count in (1, 2)}
        if not told <= seen or len(words) < 3:
            found.append(opcode)
        seen |= told
    return found


def emitted(run: Callable[[Bench], None]) -> list[str]:
    """Return the opcodes of what a body emits."""

    def body() -> None:
        run(Bench())

    text = kernel(body, arch=TARGET, version=TABLE_VERSION, block=(128, 1, 1)).ptx()
    lines = (line.strip() for line in text.splitlines())
    return [re.sub(r"^@!?\S+\s+", "", line).split()[0].rstrip(";") for line in lines if line.endswith(";")]


def test_every_form_of_hopper_has_a_wrapper() -> None:
    wanted = dict.fromkeys(needed())
    assert len(wanted) > 1500
    fitting = [call for call in calls() if not call.needs.startswith("sm_100") and not call.columns]
    known = {canonical(opcode) for opcode in emitted(lambda b: [call.run(b) for call in fitting] and None)}
    rest = [opcode for opcode in wanted if canonical(opcode) not in known and not unspelt(opcode)]
    if os.environ.get("PYPTX_KERNELS") != "all":
        rest = sample(rest)
    wrong: list[str] = []

    def spell(b: Bench) -> None:
        here = active()
        for opcode in rest:
            speller = next((each for start, each in SPELLERS.items() if opcode.startswith(start)), None)
            before = here.statement_count
            if speller is None:
                wrong.append(f"{opcode}: no wrapper")
                continue
            speller(Words(opcode), b)
            assert here.statement_count == before + 1, opcode

    written = {canonical(opcode) for opcode in emitted(spell)}
    wrong += [opcode for opcode in rest if canonical(opcode) not in written]
    assert not wrong, f"{len(wrong)} of {len(wanted)}:\n" + "\n".join(wrong)
