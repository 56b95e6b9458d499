"""Exported programs contain their kernels: another process needs only `pyptx_jax.register` to run them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from pyptx_dsl.errors import ShapeError

from .kernels import accumulate, add_row, product

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.jax

OURS = [export.DisabledSafetyCheck.custom_call("pyptx_launch")]
X = np.arange(64, dtype=np.float32)
W = np.linspace(1, 2, 64, dtype=np.float32)

RUN = """
import sys, numpy as np
import pyptx_jax
from jax import export
pyptx_jax.register()
program = export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
x, w = np.load(sys.argv[2])
np.save(sys.argv[3], np.stack(program.call(x, w)))
users = [name for name in sys.modules if not name.startswith("pyptx_dsl.")]
assert not any("kernels" in name for name in users), "the kernel's source has no place here"
"""


def function(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    old, total = accumulate(product(x, w), w)
    return old, jax.vmap(product, (0, None))(jnp.stack([total, x]), w)[0]


@pytest.mark.long
def test_another_process_runs_an_exported_program(tmp_path: Path) -> None:
    exported = export.export(jax.jit(function), disabled_checks=OURS)(X, W)
    (tmp_path / "program").write_bytes(exported.serialize())
    np.save(tmp_path / "in.npy", np.stack([X, W]))
    words = [str(tmp_path / name) for name in ("program", "in.npy", "out.npy")]
    environment = {**os.environ, "PYPTX_CPU": "quiet"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.stack([W, (W + X * W) * W]))


def test_an_exported_program_runs_here_too() -> None:
    exported = export.export(jax.jit(function), disabled_checks=OURS)(X, W)
    back = export.deserialize(exported.serialize())
    np.testing.assert_array_equal(jnp.stack(back.call(X, W)), np.stack([W, (W + X * W) * W]))


def test_a_program_for_gpus_is_exported_without_one() -> None:
    exported = export.export(jax.jit(product), platforms=["cuda", "cpu"], disabled_checks=OURS)(X, W)
    assert exported.platforms == ("cuda", "cpu")
    assert ".visible .entry product(" in exported.mlir_module()


def test_jax_asks_that_custom_calls_be_allowed() -> None:
    with pytest.raises(ValueError, match="custom calls whose targets have no compatibility guarantees"):
        export.export(jax.jit(product))(X, W)


def test_symbolic_shapes_are_refused() -> None:
    rows, columns = export.symbolic_shape("b, 64")
    x = jax.ShapeDtypeStruct((rows, columns), jnp.float32)
    with pytest.raises(ShapeError, match="X has the symbolic dimension b, but a kernel is traced for fixed sizes"):
        export.export(jax.jit(add_row), disabled_checks=OURS)(x, W)
