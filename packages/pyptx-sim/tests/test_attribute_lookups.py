"""NumPy asks operands for attributes and drops errors of the Python code that answers, interrupts included.

So Ctrl-C is lost in `array == member of an Enum`, whose class answers by `EnumType.__getattr__`. No such code runs in a
simulated run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from .ptx_text import execute

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

RACE_OF_EQUAL_VALUES = """
.shared .b32 s[32]; mov.u32 %r1, 1; st.shared.u32 [s], %r1; bar.sync 0;
setp.lt.u32 %p1, %r0, 16; @%p1 bra low; ld.shared.u32 %r2, [s+4]; bra both;
low: ld.shared.u32 %r2, [s];
both: bar.warp.sync -1; bar.red.popc.u32 %r3, 0, %p1; bar.sync 0;
st.global.u32 [%rd1], %r2;
"""


def answers(run: Callable[[], object]) -> list[str]:
    """Return the qualified names of the `__getattr__` functions that ran."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "__getattr__":
            found.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


class Answering(type):
    """Class of classes that answer in Python, as those of Enums do before Python 3.12."""

    def __getattr__(cls, name: str) -> object:
        raise AttributeError(name)


class Operand(int, metaclass=Answering):
    """A number whose class answers in Python."""


def test_the_class_of_an_operand_answers_numpy() -> None:
    assert answers(lambda: np.zeros(2) == Operand(1))


@pytest.mark.parametrize("schedule", [{}, {"seed": 1}, {"seed": 2, "delay_async": True}])
def test_no_code_of_python_answers_numpy_in_a_run(schedule: dict[str, Any]) -> None:
    out = np.zeros(128, np.uint32)
    execute(RACE_OF_EQUAL_VALUES, out, block=128, **schedule)  # compiles
    assert answers(lambda: execute(RACE_OF_EQUAL_VALUES, out, block=128, **schedule)) == []
