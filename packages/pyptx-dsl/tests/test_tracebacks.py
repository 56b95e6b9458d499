"""A traceback shows all frames of the user, and none of this project."""

from __future__ import annotations

import threading
import traceback
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import CallError, InstructionUseError, OperandError
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.tracebacks import entry
from pyptx_dsl.types import f32, u32

if TYPE_CHECKING:
    from collections.abc import Callable


def helper(register: reg.Reg) -> None:
    ptx.inst["add.u33"](register, register, 1)


@kernel(arch="sm_90a")
def wrong() -> None:
    helper(reg.scalar(u32))


@kernel(arch="sm_90a")
def chained() -> None:
    try:
        helper(reg.scalar(u32))
    except InstructionUseError as error:
        raise ValueError("mine") from error


@kernel(arch="sm_90a")
def mine() -> None:
    {}["absent"]


def functions_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def caught(call: Callable[[], object], kind: type[BaseException]) -> BaseException:
    with pytest.raises(kind) as found:
        call()
    return found.value


@pytest.mark.parametrize("ask", [wrong.ptx, wrong.module, wrong.cubin, wrong.explain])
def test_only_the_users_frames_are_left(ask: Callable[[], object]) -> None:
    error = caught(ask, InstructionUseError)
    assert functions_of(error) == ["caught", "wrong", "helper"]


def test_a_one_line_mistake_prints_few_lines() -> None:
    error = caught(wrong.ptx, InstructionUseError)
    assert len("".join(traceback.format_exception(error)).splitlines()) <= 16


def test_the_switch_keeps_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_TRACEBACK", "full")
    names = functions_of(caught(wrong.ptx, InstructionUseError))
    assert {"wrong", "helper", "trace_kernel", "emit"} <= set(names)


def test_errors_of_the_users_own_keep_their_lines_and_their_causes() -> None:
    assert functions_of(caught(mine.ptx, KeyError)) == ["caught", "mine"]
    error = caught(chained.ptx, ValueError)
    assert functions_of(error) == ["caught", "chained"]
    assert isinstance(error.__cause__, InstructionUseError)
    assert functions_of(error.__cause__) == ["chained", "helper"]


def test_a_defect_of_this_project_keeps_every_frame() -> None:
    namespace: dict[str, object] = {"__name__": "pyptx_dsl.somewhere", "entry": entry}
    exec("@entry\ndef inside():\n    {}['a defect']\n", namespace)  # noqa: S102  a frame that counts as ours
    inside = namespace["inside"]
    assert callable(inside)
    assert functions_of(caught(inside, KeyError)) == ["caught", "wrapper", "inside"]


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda: Tile(0, f32), Exception),
        (lambda: kernel(arch="sm_1")(lambda: None), Exception),
        (lambda: kernel(num_warps=4), Exception),  # type: ignore[call-overload]  # a mistake on purpose
        (lambda: wrong[1], CallError),
        (lambda: wrong.ptx(N=3), Exception),
        (lambda: wrong([1]), Exception),
        (lambda: wrong.simulate([1]), Exception),
    ],
)
def test_every_way_in_shows_the_users_line_last(ask: Callable[[], object], error: type[BaseException]) -> None:
    assert functions_of(caught(ask, error)) == ["caught", "<lambda>"]


def test_threads_show_the_same() -> None:
    seen = list[list[str]]()

    def run() -> None:
        try:
            wrong.ptx()
        except InstructionUseError as error:
            seen.append(functions_of(error))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["run", "wrong", "helper"]] * 4


def test_python_errors_that_are_reworded_have_no_second_traceback() -> None:
    @kernel(arch="sm_90a")
    def spun() -> None:
        for _ in range(reg.scalar(u32)):  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  on purpose
            ptx.ret()

    error = caught(spun.ptx, OperandError)
    assert functions_of(error) == ["caught", "spun"]
    assert "During handling" not in "".join(traceback.format_exception(error))
