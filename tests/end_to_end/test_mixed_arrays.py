"""Arrays of several frameworks in one call raise an error that names the argument, whatever the earlier calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pyptx import Tile, differentiable_kernel, kernel, ptx, reg
from pyptx.types import f32, u32
from pyptx_dsl.errors import DtypeError, ForeignArrayError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.jax, pytest.mark.torch]

VECTOR = Tile(32, f32)
VALUES = np.arange(32, dtype=np.float32)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CPU", "quiet")


def build() -> Any:
    @kernel(in_specs=(VECTOR, VECTOR), out_specs=(VECTOR,), grid=1, block=32, arch="sm_80")
    def add(X, W, Y):
        x, w, y = ptx.global_ptrs(X, W, Y)
        at = reg.from_(ptx.special.tid.x(), u32) * 4
        first, second = reg.scalar(f32), reg.scalar(f32)
        ptx.inst.ld.global_.f32(first, ptx.addr(x + at))
        ptx.inst.ld.global_.f32(second, ptx.addr(w + at))
        ptx.inst.st.global_.f32(ptx.addr(y + at), first + second)
        ptx.ret()

    return add


def makers() -> dict[str, Callable[[Any], Any]]:
    import jax.numpy as jnp
    import torch

    return {"NumPy array": np.array, "torch tensor": lambda x: torch.from_numpy(x.copy()), "jax array": jnp.asarray}


# Array kinds of the two arguments, the argument that the error names, and the framework of the call.
MIXTURES = (
    ("torch tensor", "NumPy array", "W", "torch"),
    ("NumPy array", "torch tensor", "X", "torch"),
    ("torch tensor", "jax array", "X", "jax"),
    ("jax array", "torch tensor", "W", "jax"),
)


@pytest.mark.parametrize(("first", "second", "odd", "owner"), MIXTURES)
@pytest.mark.parametrize("call", ["call", "simulate", "differentiable"])
def test_two_frameworks_in_a_call_are_an_error_that_names_the_argument(
    first: str, second: str, odd: str, owner: str, call: str
) -> None:
    made, add = makers(), build()
    gradients = differentiable_kernel(add, add, save_for_backward=[0], num_grad_inputs=1)
    function = {"call": add, "simulate": add.simulate, "differentiable": gradients}[call]
    arguments = (made[first](VALUES), made[second](VALUES))
    foreign = second if odd == "W" else first
    article, prefix = f"a {foreign}", {"torch": "torch", "jax": "jnp"}[owner]
    wanted = rf"(?s)add: {odd} is {article}, in a call with {owner} \w+s.*{prefix}.from_dlpack\({odd}\)"
    for warm in (False, True):
        if warm and call == "call":
            for make in made.values():  # earlier calls with arrays of each kind must not change the error
                add(make(VALUES), make(VALUES))
        with pytest.raises(ForeignArrayError, match=wanted) as caught:
            function(*arguments)
        assert "test_mixed_arrays.py" in str(caught.value)


def test_numpy_arrays_are_jax_arrays_to_jax() -> None:
    import jax

    add, made = build(), makers()["jax array"](VALUES)
    for _ in range(3):  # the first call specializes the kernel, later calls use the cached launcher
        for arguments in ((made, VALUES), (VALUES, made)):
            result = add(*arguments)
            assert isinstance(result, jax.Array)
            np.testing.assert_array_equal(result, 2 * VALUES)
        with pytest.raises(DtypeError, match="jax_enable_x64"):
            add(made, VALUES.astype(np.float64))
        with pytest.raises(DtypeError, match="W has dtype f16"):
            add(made, VALUES.astype(np.float16))
        with pytest.raises(DtypeError, match="W has non-native byte order"):
            add(made, VALUES.astype(">f4"))
        # jax copies the strided view of the NumPy array.
        np.testing.assert_array_equal(add(made, np.stack([VALUES, VALUES], 1)[:, 0]), 2 * VALUES)


def test_an_output_of_another_framework_is_refused() -> None:
    add, made = build(), makers()
    tensor = made["torch tensor"](VALUES)
    for _ in range(2):
        with pytest.raises(ForeignArrayError, match="out= for Y is a NumPy array, in a call with torch tensors"):
            add(tensor, tensor, out=np.zeros(32, np.float32))
        with pytest.raises(ForeignArrayError, match="X is a NumPy array, in a call with torch tensors"):
            add(VALUES, VALUES, out=tensor)
        add(tensor, tensor)
