"""A call uses the first installed runtime that claims its arrays; an error names a missing runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pyptx_dsl import reg
from pyptx_dsl.errors import RuntimeMissingError
from pyptx_dsl.kernels import runtimes
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.kernels.differentiable import differentiable_kernel
from pyptx_dsl.types import u32
from pyptx_ir.plugins.rows import Launchable, Runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.kernels.kernel import Kernel


@kernel
def one(*, value: int = 1) -> None:
    reg.scalar(u32, init=value)


def claims_words(arrays: Sequence[object]) -> bool:
    return all(isinstance(array, str) for array in arrays)


def call(kernel_: Launchable, arrays: Sequence[object], keywords: Mapping[str, object]) -> object:
    spec = kernel_.specialize([], keywords)
    return (spec.entry, tuple(arrays), spec.text.count("mov.u32 %r0, 5;"))


def simulate(kernel_: Launchable, arrays: Sequence[object], keywords: Mapping[str, object]) -> object:
    return (kernel_.name, tuple(arrays), dict(keywords))


@dataclass(frozen=True)
class Framework:
    """Runtime of a framework, as plugins register runtimes; this runtime supports differentiation."""

    name: str = "framework"
    priority: int = 1
    simulate: None = None
    launcher: None = None

    def claims(self, arrays: Sequence[object]) -> bool:
        return bool(arrays)

    def call(self, *_: object) -> object:
        return "framework"

    def differentiable(self, forward: Kernel, backward: Kernel, **keywords: object) -> object:
        return lambda *arrays, **given: (forward.name, backward.name, keywords, arrays, given)


WORDS = Runtime("words", 10, claims_words, call, simulate)


def test_the_runtime_that_claims_the_arrays_runs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "_runtimes", lambda: (WORDS, Framework()))
    assert one("a", "b", value=5) == ("one", ("a", "b"), 1)
    assert one(3) == "framework"
    assert one.simulate("a", checks="none", step_limit=9) == (
        "one",
        ("a",),
        {"checks": "none", "seed": 0, "step_limit": 9},
    )
    with pytest.raises(RuntimeMissingError, match="simulates arguments of type int"):
        one.simulate(3)


def test_the_runtime_of_the_arrays_differentiates_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "_runtimes", lambda: (WORDS, Framework()))
    function = differentiable_kernel(one, one, num_grad_inputs=1)
    assert (function.forward_kernel, function.backward_kernel) == (one, one)
    assert function("a", value=2) == ("one", "one", {"num_grad_inputs": 1}, ("a",), {"value": 2})
    monkeypatch.setattr(runtimes, "_runtimes", lambda: (WORDS,))
    with pytest.raises(RuntimeMissingError, match="differentiates arguments of type str"):
        function("a")


def test_a_missing_runtime_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "_runtimes", lambda: ())
    tensor = type("Tensor", (), {"__module__": "torch.cuda"})()
    with pytest.raises(RuntimeMissingError, match=r"pip install .*\[torch\]"):
        one(tensor)
    with pytest.raises(RuntimeMissingError, match="no arrays"):
        one()


def test_runtimes_with_launchers_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = list[str]()

    def runtime(name: str, kind: type) -> Runtime:
        def launcher(_: Launchable, miss: Callable[..., object]) -> Callable[..., object]:
            def launch(*arrays: object, **keywords: object) -> object:
                ways.append(name)
                return name if all(isinstance(array, kind) for array in arrays) else miss(*arrays, **keywords)

            return launch

        def answer(*_: object) -> str:
            ways.append(f"long {name}")
            return name

        return Runtime(name, 0, lambda arrays: isinstance(arrays[0], kind), answer, launcher=launcher)

    @kernel
    def both() -> None:
        reg.scalar(u32, init=1)

    monkeypatch.setattr(runtimes, "_runtimes", lambda: (runtime("words", str), runtime("numbers", int)))
    assert [both(array) for array in ("a", 1, "a", 1, 2)] == ["words", "numbers", "words", "numbers", "numbers"]
    assert ways == [
        *("long words",),  # the first call with arrays of a framework takes the slow path
        *("words", "long numbers"),
        *("numbers", "words"),  # the newest launcher forwards arrays of other frameworks to the launcher before it
        *("numbers", "numbers"),
    ]
