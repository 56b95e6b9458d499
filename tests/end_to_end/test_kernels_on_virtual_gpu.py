"""pyptx's kernels on CUDA tensors of the virtual GPU: streams, graphs, compiled functions, gradients, findings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.torch, pytest.mark.hopper]

ROOT = Path(__file__).parents[2]
RUN = "import sys\nfrom pyptx_virtual.command import run\nsys.exit(run(sys.argv[1:]))"
CORRECT = """
import torch
from examples.ampere.vector_add import vector_add
from examples.hopper.gemm_simple_hopper import gemm
from examples.hopper.rms_norm_backward import differentiable_rms_norm_for

x, y = torch.randn(2, 700, device="cuda")
for _ in range(2):
    total = vector_add(x, y)
    assert total.is_cuda and torch.equal(total, x + y)
out = torch.empty_like(x)
assert vector_add(x, y, out=out) is out and torch.equal(out, total)
assert vector_add(x[:0], y[:0]).shape == (0,)

side = torch.cuda.Stream()
with torch.cuda.stream(side):
    late = vector_add(total, y)
torch.cuda.current_stream().wait_stream(side)
assert torch.equal(vector_add(late, late), 2 * (total + y))

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    sums = vector_add(x, y) + 1
y.fill_(2)
graph.replay()
assert torch.equal(sums, x + 2 + 1)
total = vector_add(x, y)

double = torch.compile(lambda x, y: vector_add(x, y) * 2, backend="aot_eager", fullgraph=True)
assert torch.equal(double(x, y), 2 * total)

a, b = torch.randn(2, 136, 136, device="cuda", dtype=torch.bfloat16)
torch.testing.assert_close(gemm(a, b).float(), a.float() @ b.float(), atol=0.2, rtol=1e-2)

x, w = torch.randn(4, 264, device="cuda", requires_grad=True), torch.randn(264, device="cuda", requires_grad=True)
differentiable_rms_norm_for(264)(x, w).square().sum().backward()
found = x.grad.clone(), w.grad.clone()
x.grad = w.grad = None
torch.nn.functional.rms_norm(x, (264,), w, 1e-6).square().sum().backward()
for got, wanted in zip(found, (x.grad, w.grad)):
    torch.testing.assert_close(got, wanted, atol=1e-3, rtol=1e-3)
print(torch.cuda.get_device_name())
"""
FAULTY = """
import torch
from pyptx import Tile, kernel, ptx, reg
from pyptx.types import f32, u32


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=1, block=(128, 1, 1), arch="sm_90a")
def copied(x, y):
    px, py = ptx.global_ptrs(x, y)
    offset = reg.from_(ptx.special.tid.x(), u32) * 4
    value = reg.scalar(f32)
    ptx.inst.ld.global_.f32(value, ptx.addr(px + offset))
    ptx.inst.st.global_.f32(ptx.addr(py + offset), value)


copied(torch.ones(100, device="cuda"))
"""


def run(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    words = [sys.executable, "-c", RUN, *options, str(program)]
    return subprocess.run(words, check=False, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.long
def test_calls_compiled_functions_and_gradients_are_right(tmp_path: Path) -> None:
    done = run(tmp_path, CORRECT, "--schedules", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "pyptx virtual GPU (sm_90a)\n"
    assert "12 launches of 5 kernels on pyptx virtual GPU (sm_90a)" in done.stderr


@pytest.mark.long
def test_a_fault_is_found_at_the_line_of_the_kernel(tmp_path: Path) -> None:
    done = run(tmp_path, FAULTY)
    assert done.returncode == 1
    assert "error[out-of-bounds]" in done.stderr
    assert "program.py:12 in copied" in done.stderr
