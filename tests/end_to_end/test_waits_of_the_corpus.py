"""Each mbarrier wait that a corpus module writes as a PTX block equals a form of `ptx.mbarrier.wait`, names included.

By default the tests check at most `MOST` waits of each form, and all waits with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from tools.shares import at_most

from pyptx import kernel, ptx, reg
from pyptx.types import b32, b64, u16
from pyptx_dsl.instructions.groups.wait_forms import FORMS
from pyptx_ir.syntax import nodes, parse, spell, walk
from pyptx_ir.syntax import operands as tree

pytestmark = pytest.mark.scaled

CORPUS = Path(__file__).resolve().parents[2] / "corpus"
POLLS = {("mbarrier", "try_wait"), ("mbarrier", "test_wait")}
SPACES = {"shared::cta", "shared"}
MOST = 30  # mbarrier waits that are tested for each form in `FORMS`, by default


def is_poll(node: object) -> bool:
    return isinstance(node, nodes.Instruction) and node.opcode[:2] in POLLS


@cache
def waits() -> dict[str, nodes.Block]:
    """Return the PTX blocks (`{ }`) of the corpus that have one mbarrier poll, without repeated texts."""
    found: dict[str, nodes.Block] = {}
    for path in sorted(CORPUS.rglob("*.ptx")):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        if "_wait" in text:
            for node in walk(parse(text)):
                if isinstance(node, nodes.Block) and sum(map(is_poll, node.body)) == 1 and len(node.body) < 9:
                    found.setdefault("\n".join(map(spell, node.body)), node)
    return found


def knobs_of(block: nodes.Block) -> dict[str, object]:
    """Return the arguments of `ptx.mbarrier.wait` that emit a PTX block: from its poll and its names in order."""
    (poll,) = [node for node in block.body if isinstance(node, nodes.Instruction) and is_poll(node)]
    (declared,) = [node.names[0].name for node in block.body if isinstance(node, nodes.RegisterDeclaration)]
    labels = [node.name for node in block.body if isinstance(node, nodes.Label)]
    words = [word for word in poll.opcode[2:-1] if word not in {"parity", *SPACES}]
    knobs: dict[str, object] = {"done": declared, "poll": poll.opcode[1], "parity": "parity" in poll.opcode}
    knobs["space"] = next((word for word in poll.opcode if word in SPACES), None)
    knobs |= dict(zip(("sem", "scope"), words, strict=False)) | dict(zip(("label", "past_label"), labels, strict=False))
    knobs["suspend_time_hint"] = spell(poll.operands[3]) if len(poll.operands) > 3 else None
    knobs["uniform"] = any(isinstance(node, nodes.Instruction) and node.opcode == ("bra", "uni") for node in block.body)
    for node in block.body:
        if isinstance(node, nodes.Instruction) and node.opcode[0] == "selp":
            knobs |= {"selp": ".".join(node.opcode), "result": node.operands[0]}
        if isinstance(node, nodes.Loc):
            knobs.setdefault("loc", location(node))
    return knobs


def location(node: nodes.Loc) -> tuple[object, ...]:
    """Return a wait's source location: one line before the `.loc` of its second line, and where it was inlined."""
    place, at = (node.file, node.line - 1, node.column), node.inlined_at
    return place if at is None else (*place, at.function_label, (at.file, at.line, at.column))


def written(block: nodes.Block, form: str) -> str:
    """Return the statements that `ptx.mbarrier.wait` emits with the arguments found for a PTX block."""
    (poll,) = [node for node in block.body if isinstance(node, nodes.Instruction) and is_poll(node)]
    knobs = knobs_of(block)

    def k() -> None:
        registers = {"r": reg.array(b32, 4000, name="%r"), "rs": reg.array(u16, 99, name="%rs")}
        registers["rd"] = reg.array(b64, 999, name="%rd")
        for number in range(1, 4):
            ptx.file_(number, f"kernel_{number}.py")

        def held(operand: tree.Operand) -> object:
            if not isinstance(operand, tree.Register):
                return operand
            stem = operand.name.rstrip("0123456789")
            return registers[stem[1:]][int(operand.name[len(stem) :])]

        if isinstance(knobs.get("result"), tree.Register):
            knobs["result"] = held(knobs["result"])
        ptx.mbarrier.wait(poll.operands[1], held(poll.operands[2]), form=form, **knobs)

    module = kernel(arch="sm_90a", version=(8, 6))(k).module()
    (inner,) = [node for node in walk(module) if isinstance(node, nodes.Block) and any(map(is_poll, node.body))]
    return "\n".join(map(spell, inner.body))


def form_of(block: nodes.Block) -> str:
    """Return the form of `ptx.mbarrier.wait` that emits the same opcodes as the PTX block (`{ }`)."""
    opcodes = [node.opcode[0] for node in block.body if isinstance(node, nodes.Instruction)]
    kinds = {
        ("mbarrier", "selp"): "poll",
        ("mbarrier", "bra", "bra"): "scoped_done",
        ("mbarrier", "bra"): "scoped",
        ("bra", "mbarrier", "bra"): "skip",
        ("mbarrier", "nanosleep", "bra"): "backoff",
    }
    return kinds[tuple(opcodes)]


def test_the_corpus_has_waits_between_braces() -> None:
    assert len(waits()) > 20
    assert {form_of(block) for block in waits().values()} <= FORMS.keys()


def some() -> list[str]:
    """Return the texts of the tested mbarrier waits; by default at most `MOST` waits of each form."""
    texts = sorted(waits())
    forms = {text: form_of(waits()[text]) for text in texts}
    return [text for form in FORMS for text in at_most([each for each in texts if forms[each] == form], MOST)]


@pytest.mark.parametrize("text", some())
def test_each_wait_is_written_name_for_name(text: str) -> None:
    block = waits()[text]
    assert written(block, form_of(block)) == text
