"""Errors of calls name the caller's line and are pyptx exceptions; the next valid call works."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.errors import (
    ArgumentCountError,
    BundleError,
    DtypeError,
    ForeignArrayError,
    KeywordError,
    LayoutError,
    RankError,
    RuntimeMissingError,
    ShapeError,
)
from pyptx_dsl.kernels import runtimes
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32
from pyptx_ir.errors import PyptxError, SimulatedExecution
from pyptx_jax.errors import ExecutionError
from pyptx_jax.failures import Failures
from pyptx_jax.launches import resolve
from pyptx_jax.records import RECORDS, Records

from .kernels import add_row, double, fill, product, thread, trapping

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.jax

X = jnp.arange(64, dtype=jnp.float32)
M = X.reshape(2, 32)

BAD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "too few arrays": (lambda: product(X), ArgumentCountError, "takes 2 arrays .* not 1: W missing"),
    "too many arrays": (lambda: product(X, X, X), ArgumentCountError, "not 3"),
    "a matrix for a vector": (lambda: product(M, X), RankError, "X has 2 dimensions"),
    "a vector for a matrix": (lambda: add_row(X, X), RankError, "X has 1 dimensions"),
    "sizes that differ": (lambda: product(X, X[:32]), ShapeError, "N is 64 in X.shape.0., and 32 in W"),
    "integers for floats": (lambda: product(X.astype(int), X), DtypeError, "X has dtype s32"),
    "half precision": (lambda: product(X.astype(jnp.bfloat16), X), DtypeError, "X has dtype bf16"),
    "complex numbers": (lambda: product(X + 1j, X), DtypeError, "X has dtype complex64, which has no PTX type"),
    "a random key": (lambda: product(jax.random.key(0), X), DtypeError, "X has dtype key.*, which has no PTX type"),
    "integers of 4 bits": (lambda: product(X.astype(jnp.int4), X), DtypeError, "int4, which has no PTX type"),
    "NumPy's wide floats": (lambda: product(X, np.zeros(64)), DtypeError, "jax_enable_x64"),
    "a number for an array": (
        lambda: product(X, 2.0),
        ForeignArrayError,
        "W is of type float, in a call with jax arrays",
    ),
    "a list for an array": (lambda: product(X, [1.0] * 64), ForeignArrayError, "of type list"),
    "a masked array": (lambda: product(X, np.ma.masked_less(np.ones(64, "f"), 0)), LayoutError, "W is a masked array"),
    "foreign bytes": (lambda: product(X, np.ones(64, ">f4")), DtypeError, "W has non-native byte order"),
    "an unknown keyword": (lambda: product(X, X, factor=2), KeywordError, "factor"),
    "a size that contradicts the arrays": (lambda: product(X, X, N=32), ShapeError, "N=32 contradicts the arrays"),
    "out=": (lambda: product(X, X, out=X), KeywordError, "jax arrays cannot be written to"),
    "out= without inputs": (lambda: fill(out=X, N=32, value=1.0), KeywordError, "cannot be written to"),
    "a missing number": (lambda: fill(N=32, device=jax.devices()[0]), KeywordError, "value"),
    "a negative size keyword": (lambda: fill(N=-1, value=1.0, device=jax.devices()[0]), KeywordError, "N=-1"),
    "device= with arrays": (
        lambda: product(X, X, device="cpu"),
        KeywordError,
        "device= is only valid for calls without arrays",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_bad_calls_are_refused_at_their_line(case: str, jitted: bool) -> None:  # noqa: FBT001  a parameter of pytest's
    call, error, message = BAD[case]
    with pytest.raises(error, match=message) as caught:
        (jax.jit(call) if jitted else call)()
    assert "test_errors.py" in str(caught.value)
    np.testing.assert_array_equal(product(X, X), X * X)


def test_a_traced_keyword_is_refused() -> None:
    with pytest.raises(
        KeywordError, match=r"scale is a traced value.*\n(.*\n)*help: pass a Python number.*static_argnames"
    ):
        jax.jit(lambda x, scale: product(x, x, scale=scale))(X, 2.0)
    with pytest.raises(KeywordError, match="device= is only valid for calls without arrays"):
        jax.jit(lambda value: fill(N=32, value=value, device=jax.devices()[0]))(2.0)


def test_a_call_that_fits_no_longer_is_refused_after_many_that_did() -> None:
    for _ in range(3):
        product(X, X)
    with pytest.raises(DtypeError, match="W has dtype s32"):
        product(X, jnp.arange(64))
    with pytest.raises(ShapeError, match="N is 64"):
        product(X, X[:32])
    np.testing.assert_array_equal(product(X, X), X * X)


# --- at run time ------------------------------------------------------------------------------------------------------


def test_a_failure_of_a_kernel_is_the_simulators_own_exception() -> None:
    for _ in range(3):  # first kernel call: slow path of jax calls; later calls: fast path
        with pytest.raises(PyptxError, match="trap") as caught:
            trapping(X)
        assert type(caught.value).__name__ == "KernelTrap"
        assert "kernels.py" in str(caught.value)
    np.testing.assert_array_equal(product(X, X), X * X)


def test_inside_jit_a_failure_is_jaxs_exception_with_our_words() -> None:
    function = jax.jit(lambda x: trapping(x) + 1)
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="trap") as caught:
            function(X).block_until_ready()
        assert "kernels.py" in str(caught.value)
        assert "help" in str(caught.value) or "trap" in str(caught.value)


def test_an_access_out_of_bounds_names_the_line() -> None:
    from pyptx_dsl import ptx

    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N, block=32, arch="sm_80")
    def far(X, Y):
        x, y = ptx.global_ptrs(X, Y)
        at = thread()
        from .kernels import load, store

        store(y, at, load(x, at))
        ptx.ret()

    with pytest.raises(PyptxError, match=r"kernels\.py|test_errors\.py"):
        far(X)


def test_a_failure_that_nobody_kept_keeps_its_text() -> None:
    error = ExecutionError("the driver refused")
    assert isinstance(error, RuntimeError)
    failures = Failures(2)
    for number in range(4):
        with pytest.raises(RuntimeError, match=f"failure {number}"), failures.kept():
            raise KeyError(f"failure {number}")
    assert failures.take("'failure 0'") is None
    kept = failures.take("'failure 3'")
    assert isinstance(kept, KeyError)
    assert kept.__traceback__ is None
    assert failures.take("'failure 3'") is None


# --- without a simulator, and simulator warnings ----------------------------------------------------------------------


def test_without_a_simulator_its_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = tuple(row for row in runtimes._runtimes() if row.name != "sim")
    monkeypatch.setattr(runtimes, "_runtimes", lambda: rows)
    x = jnp.arange(96, dtype=jnp.float32)  # an array size for which no other test compiles a program
    for _ in range(2):
        with pytest.raises(RuntimeMissingError, match=r"pip install .*\[sim\]"):
            product(x, x)
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"pip install .*\[sim\]"):
        jax.jit(lambda x: product(x, x) + 2)(x).block_until_ready()
    monkeypatch.undo()
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    np.testing.assert_array_equal(product(x, x), x * x)


def test_the_first_call_on_a_cpu_warns_at_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYPTX_CPU")
    x = jnp.arange(160, dtype=jnp.float32)
    with pytest.warns(SimulatedExecution, match="double runs on the simulator") as caught:
        double(x)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double(x)
    with pytest.warns(SimulatedExecution, match="double runs on the simulator") as caught:
        jax.jit(lambda x: double(x) + 1)(x)
    assert caught[0].filename == __file__


def test_small_launches_are_checked_and_warn_of_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTX_CHECKS", "auto")
    x = jnp.arange(40, dtype=jnp.float32)  # the kernel's grid of 40 // 32 = 1 CTA writes 32 of the 40 outputs
    for call in (product, jax.jit(lambda x, w: product(x, w) + 1)):
        with pytest.warns(UserWarning, match=r"unwritten-output\]: 8 of 40 elements"):
            call(x, x).block_until_ready()
    monkeypatch.setenv("PYPTX_CHECKS", "off")
    product(x, x).block_until_ready()


def test_the_environment_may_forbid_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    x = jnp.arange(192, dtype=jnp.float32)
    monkeypatch.setenv("PYPTX_CPU", "error")
    with pytest.raises(PyptxError, match="PYPTX_CPU=quiet"):
        double(x)
    monkeypatch.setenv("PYPTX_CPU", "sometimes")
    with pytest.raises(PyptxError, match="must be quiet, warn or error"):
        double(x)
    monkeypatch.setenv("PYPTX_CPU", "quiet")
    np.testing.assert_array_equal(double(x), 2 * x)


# --- foreign programs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ["", "{}", "[1, 2]", '{"entry": "x"}', "[" * 100_000])
def test_a_damaged_record_is_refused(record: str) -> None:
    with pytest.raises(BundleError):
        Records(2).read(record)
    with pytest.raises(RuntimeError, match="record"):
        resolve("cpu", record.encode())


def test_a_call_with_other_arrays_than_its_record_is_refused() -> None:
    product(X, X)
    record = next(text for text in RECORDS._known if getattr(text, "entry", "") == "product")
    result = jax.ShapeDtypeStruct((64,), jnp.float32)

    def call(results: object, *arrays: jax.Array) -> object:
        return jax.ffi.ffi_call("pyptx_launch", results)(*arrays, record=str(record))

    for results, arrays in (
        ([result], [X]),
        ([result], [X, X, X]),
        ([result, result], [X, X]),
        ([result], [X, X[:32]]),
        ([result], [X, X.astype(jnp.bfloat16)]),
        ([result], [X, X.reshape(1, 64)]),
        ([result], [X[0], X]),
        ([jax.ShapeDtypeStruct((2, 64), jnp.float32)], [jnp.stack([X] * 3), jnp.stack([X] * 2)]),
    ):
        with pytest.raises(jax.errors.JaxRuntimeError, match="invalid or damaged pyptx program"):
            jax.block_until_ready(call(results, *arrays))
    np.testing.assert_array_equal(product(X, X), X * X)


def test_records_are_remembered_for_a_while() -> None:
    special = RECORDS.read(next(iter(RECORDS._known))).special
    records = Records(1)
    text = records.write(special, ("here.py", 3))
    assert records.read(text).place == ("here.py", 3)
    records._known.clear()
    again = records.read(text)
    assert again.place is None
    assert again.special == special
