"""Variable flow, decoded from bytecode, agrees with `dis` in every release of Python."""

from __future__ import annotations

import dis
import importlib
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl.control_flow.liveness import flow_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# Tested standard library modules, with all kinds of loops, generators, coroutines, matches, cells, classes, long jumps.
MODULES = ("argparse", "ast", "asyncio.base_events", "dataclasses", "dis", "difflib", "pickle", "statistics", "typing")
READS, BINDS = ("LOAD_FAST", "LOAD_NAME", "LOAD_DEREF"), ("STORE_FAST", "STORE_NAME", "STORE_DEREF", "DELETE_FAST")


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


@pytest.mark.parametrize("name", MODULES)
def test_jumps_and_variables_are_those_that_dis_tells(name: str) -> None:
    file = importlib.import_module(name).__file__
    assert file is not None
    whole = compile(Path(file).read_text(encoding="utf-8"), file, "exec")
    jumps = uses = 0
    for code in codes(whole):
        flow = flow_of(code)
        points = dict(zip(flow.offsets, flow.points, strict=True))
        for one in dis.get_instructions(code):
            if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
                assert points[one.offset].target == one.argval, (code.co_qualname, one)
                jumps += 1
            elif one.opname in READS:
                assert points[one.offset].reads == {one.argval}, (code.co_qualname, one)
                uses += 1
            elif one.opname in BINDS:
                assert points[one.offset].binds == {one.argval}, (code.co_qualname, one)
                uses += 1
    assert jumps > 20
    assert uses > 100


def test_what_is_live_is_what_the_textbook_says() -> None:
    def body(a: int, b: int) -> int:
        c = d = a + 1
        for i in range(b):
            c = c + i
            d = c
        return c + d

    flow = flow_of(body.__code__)
    assert flow.live[0] == {"a", "b"}
    (head,) = [one.offset for one in dis.get_instructions(body) if one.opname == "FOR_ITER"]
    assert flow.live_inside(head) == {"c"}
    assert flow.live_behind(head) == {"c", "d"}
    (store,) = flow.stores("d", head, head)
    assert flow.stores("i", head, head) == sorted(flow.targets_behind(head) & {*flow.offsets})
    assert head < store
