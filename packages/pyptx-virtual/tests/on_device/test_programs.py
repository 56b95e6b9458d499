"""Programs of torch run on the device, and compute what they compute on the CPU."""

from __future__ import annotations

import copy
import io
import pickle
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if TYPE_CHECKING:
    from collections.abc import Callable


class Attention(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)), (4, 6)),
    "conv": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        (2, 3, 8, 8),
    ),
    "depthwise conv": (lambda: nn.Conv2d(4, 8, 3, groups=4, stride=2), (2, 4, 9, 9)),
    "dilated conv": (lambda: nn.Conv2d(3, 2, 3, dilation=2), (1, 3, 9, 9)),
    "conv1d": (lambda: nn.Conv1d(3, 3, 3, groups=3), (2, 3, 9)),
    "conv3d": (lambda: nn.Conv3d(2, 2, 2, groups=2), (1, 2, 4, 4, 4)),
    "transposed conv": (lambda: nn.ConvTranspose2d(3, 2, 3), (1, 3, 5, 5)),
    "lstm": (lambda: nn.LSTM(6, 5, num_layers=2, bidirectional=True), (3, 2, 6)),
    "lstm without bias": (lambda: nn.LSTM(6, 5, bias=False), (3, 2, 6)),
    "gru": (lambda: nn.GRU(6, 5, num_layers=2), (3, 2, 6)),
    "gru cell": (lambda: nn.GRUCell(6, 5, bias=False), (2, 6)),
    "rnn": (lambda: nn.RNN(6, 5), (3, 2, 6)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 5)),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 3, 8)),
    "attention": (Attention, (2, 2, 5, 4)),
    "upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 3, 3)),
}
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, 0.1),
    "Adam foreach": lambda p: torch.optim.Adam(p, 0.1, foreach=True),
    "Adam fused": lambda p: torch.optim.Adam(p, 0.1, fused=True),
    "AdamW one by one": lambda p: torch.optim.AdamW(p, 0.1, foreach=False),
    "Adagrad fused": lambda p: torch.optim.Adagrad(p, 0.1, fused=False),
    "RMSprop": lambda p: torch.optim.RMSprop(p, 0.1),
    "NAdam": lambda p: torch.optim.NAdam(p, 0.1),
    "LBFGS": lambda p: torch.optim.LBFGS(p, 0.1, max_iter=2),
}


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.is_cuda
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_and_its_gradients_are_those_of_the_cpu(name: str, *, training: bool) -> None:
    torch.manual_seed(1)
    make, shape = MODULES[name]
    host = make().double().train(training)
    device = copy.deepcopy(host).cuda()
    inputs = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    on_device = inputs.detach().cuda().requires_grad_()
    expected, found = host(inputs), device(on_device)
    results = [each[0] if isinstance(each, tuple) else each for each in (expected, found)]
    close(results[1], results[0])
    for result in results:
        result.square().sum().backward()
    assert on_device.grad is not None
    assert inputs.grad is not None
    close(on_device.grad, inputs.grad)
    for each, other in zip(device.parameters(), host.parameters(), strict=True):
        assert each.grad is not None
        assert other.grad is not None
        close(each.grad, other.grad)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_takes_the_steps_of_the_cpu(name: str) -> None:
    torch.manual_seed(2)
    host = nn.Linear(4, 3).double()
    device = copy.deepcopy(host).cuda()
    data = torch.randn(5, 4, dtype=torch.float64)

    def trained(model: nn.Module, inputs: torch.Tensor) -> None:
        optimizer = OPTIMIZERS[name](model.parameters())

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(inputs).square().sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)

    trained(host, data)
    trained(device, data.cuda())
    close(device.weight, host.weight)


def test_mixed_precision_with_a_gradient_scaler() -> None:
    model = nn.Linear(8, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    before = model.weight.detach().clone()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        result = model(torch.ones(2, 8, device="cuda"))
        assert result.dtype == torch.bfloat16
        assert nn.functional.softmax(result, -1).dtype == torch.float32
    scaler.scale(result.float().sum()).backward()
    scaler.unscale_(optimizer)
    assert model.bias.grad is not None
    assert model.bias.grad.tolist() == [2.0] * 4
    scaler.step(optimizer)
    scaler.update()
    assert not model.weight.equal(before)
    model.weight.grad = torch.full_like(model.weight, float("inf"))
    before = model.weight.detach().clone()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert model.weight.equal(before)
    assert scaler.get_scale() == 512.0


def test_batches_are_pinned_and_copied() -> None:
    data = torch.arange(12.0).reshape(6, 2)
    loader = DataLoader(TensorDataset(data), batch_size=2, pin_memory=True)
    batches = [batch for (batch,) in loader]
    assert all(batch.is_pinned() for batch in batches)
    assert torch.cat([batch.cuda(non_blocking=True) for batch in batches]).cpu().equal(data)


@pytest.mark.parametrize(
    "location", [None, "cuda", "cuda:0", "cpu", {"cuda:0": "cpu"}, lambda storage, _: storage.cuda()]
)
def test_tensors_are_saved_and_loaded(location: object) -> None:
    base = torch.arange(6.0, device="cuda")
    file = io.BytesIO()
    torch.save({"base": base, "view": base[2:], "model": nn.Linear(2, 2).cuda().state_dict()}, file)
    file.seek(0)
    loaded = torch.load(file, map_location=location)
    expected = "cpu" if location in ("cpu", {"cuda:0": "cpu"}) else "cuda"
    assert loaded["view"].device.type == loaded["model"]["weight"].device.type == expected
    loaded["base"][3] = 9
    assert loaded["view"].tolist() == [2, 9, 4, 5]
    assert base.tolist() == [0, 1, 2, 3, 4, 5]


def test_tensors_of_the_cpu_are_loaded_to_the_device() -> None:
    file = io.BytesIO()
    torch.save(torch.arange(3), file)
    file.seek(0)
    assert torch.load(file, map_location="cuda").equal(torch.arange(3, device="cuda"))


def test_copies_and_pickles_are_on_the_device_and_independent() -> None:
    tensor = torch.arange(4.0, device="cuda").requires_grad_()
    for made in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor)), copy.copy(tensor)):  # noqa: S301 - its own pickle
        assert made.is_cuda
        assert made.equal(tensor)
    copied = copy.deepcopy(tensor)
    with torch.no_grad():
        copied.zero_()
    assert tensor.tolist() == [0, 1, 2, 3]
    storage = torch.UntypedStorage(8, device="cuda")
    storage.fill_(3)
    assert storage.tolist() == [3] * 8
    assert storage.cpu().tolist() == [3] * 8


def test_default_devices() -> None:
    with torch.device("cuda"):
        made = [
            torch.zeros(2),
            torch.tensor([1, 2]),
            torch.arange(3),
            nn.Linear(2, 2).weight,
            torch.randn(2),
            torch.eye(2),
        ]
        assert torch.ones(2, device="cpu").device.type == "cpu"
    assert all(each.is_cuda for each in made)
    torch.set_default_device("cuda")
    try:
        assert torch.full((2,), 3).tolist() == [3, 3]
        assert torch.full((2,), 3).is_cuda
    finally:
        torch.set_default_device(None)
    assert torch.ones(1).device.type == "cpu"


def test_transformations_of_torch_func() -> None:
    x = torch.linspace(0, 1, 5, device="cuda", dtype=torch.float64)
    close(torch.func.grad(lambda v: (v**3).sum())(x), 3 * x.cpu() ** 2)
    close(torch.func.vmap(lambda v: v * x.sum())(x), x.cpu() * 2.5)
    close(torch.func.jacrev(torch.sin)(x), torch.diag(x.cpu().cos()))
    close(torch.func.jacfwd(torch.sin)(x), torch.diag(x.cpu().cos()))
    close(torch.func.hessian(lambda v: (v**3).sum())(x), torch.diag(6 * x.cpu()))


def test_inference_mode_and_no_grad() -> None:
    with torch.inference_mode():
        inside = torch.ones(3, device="cuda") * 2
        assert inside.is_inference()
    outside = torch.ones(3, device="cuda")
    with torch.inference_mode():
        outside.add_(1)
    outside.add_(1)
    assert outside.tolist() == [3, 3, 3]
    assert (inside + outside).tolist() == [5, 5, 5]


def test_printing() -> None:
    assert repr(torch.arange(3, device="cuda")) == "tensor([0, 1, 2], device='cuda:0')"
    assert repr(torch.empty(0, 2, device="cuda")) == "tensor([], device='cuda:0', size=(0, 2))"
    assert "device='cuda:0', grad_fn=<MulBackward0>" in repr(torch.ones(2, device="cuda", requires_grad=True) * 2)
    assert f"{torch.tensor(2.5, device='cuda'):.2f}" == "2.50"


def test_checkpoints_and_hooks() -> None:
    x = torch.linspace(-1, 1, 4, device="cuda", requires_grad=True)
    seen: list[torch.device] = []
    x.register_hook(lambda grad: seen.append(grad.device))
    torch.utils.checkpoint.checkpoint(lambda v: v.sin().exp().sum(), x, use_reentrant=False).backward()
    assert seen == [torch.device("cuda", 0)]
    assert x.grad is not None
    torch.testing.assert_close(x.grad.cpu(), x.detach().cpu().cos() * x.detach().cpu().sin().exp())
