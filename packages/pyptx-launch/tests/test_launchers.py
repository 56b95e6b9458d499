"""Properties of launchers: a hit launches with the call's values; every other call reaches `miss` unchanged."""

from __future__ import annotations

import ast
import gc
import struct
import threading
import weakref
from typing import Any

import pytest

from pyptx_launch import DriverError, Launcher, LaunchError, Module, Plan, Pointer, Scalar, Signature

from .images import POINTER, image, scalar

pytestmark = pytest.mark.torch

CPU = (1, 0)
ONE = (1, 1, 1)


@pytest.fixture
def torch() -> Any:
    import torch

    return torch


class Missed(list):
    """Recorder of the calls that missed the launcher's cache; each call returns "missed"."""

    def __call__(self, *tensors, **keywords):
        self.append((tensors, keywords))
        return "missed"


def plan_of(tensors: int, *scalars: Scalar) -> Plan:
    """Return a launch plan with `tensors` pointer parameters, followed by scalars."""
    declared = [POINTER] * tensors + [scalar(each.type) for each in scalars]
    parameters = (*map(Pointer, range(tensors)), *scalars)
    return Plan(Module(image(*declared)), "k", grid=ONE, block=(32, 1, 1), parameters=parameters)


def launcher_of(torch, *, scalars=(), keywords=(), inputs=None, outputs=None, **options):
    """Return a launcher of f32 tensors x[4, 8], w[8] to y[4, 8], and its recorder of misses."""
    inputs = inputs or (Signature((4, 8), device=CPU, alignment=4), Signature((8,), device=CPU, alignment=4))
    outputs = (Signature((4, 8), device=CPU, alignment=4),) if outputs is None else outputs
    missed = Missed()
    types = (torch.Tensor, torch.nn.Parameter)
    launcher = Launcher(missed, types=types, scalars=keywords, empty_like=torch.empty_like, **options)
    like = [prototype(torch, signature) for signature in outputs]
    launcher.add(plan_of(len(inputs) + len(outputs), *scalars), inputs, outputs, like=like)
    return launcher, missed


def prototype(torch, signature):
    """Return a tensor that matches a signature."""
    dtype = {"f32": torch.float32, "f16": torch.float16, "s64": torch.int64}[signature.dtype]
    return torch.empty_strided(signature.shape, signature.steps, dtype=dtype)


def address(tensor) -> bytes:
    return tensor.data_ptr().to_bytes(8, "little")


def test_a_hit_allocates_the_output_launches_and_returns_it(null, torch):
    launcher, missed = launcher_of(torch)
    x, w = torch.ones(4, 8), torch.ones(8)
    y = launcher(x, w)
    assert (type(y), y.shape, y.dtype, y.device) == (torch.Tensor, (4, 8), torch.float32, x.device)
    (launch,) = null.launches()
    assert launch["parameters"] == [address(x), address(w), address(y)]
    assert not missed


def test_several_outputs_are_a_tuple_and_none_is_none(null, torch):
    x = torch.ones(4, 8)
    one = Signature((4, 8), device=CPU)
    launcher, _ = launcher_of(torch, inputs=(one,), outputs=(one, Signature((3,), dtype="s64", device=CPU)))
    first, second = launcher(x)
    assert (first.shape, second.shape, second.dtype) == ((4, 8), (3,), torch.int64)
    assert null.launches()[0]["parameters"] == [address(x), address(first), address(second)]
    launcher, _ = launcher_of(torch, inputs=(one, one), outputs=())
    assert launcher(x, first) is None
    assert null.launches()[0]["parameters"] == [address(x), address(first)]


def test_out_is_written_to_and_returned(null, torch):
    launcher, missed = launcher_of(torch)
    x, w, y = torch.ones(4, 8), torch.ones(8), torch.empty(4, 8)
    assert launcher(x, w, out=y) is y
    assert null.launches()[0]["parameters"] == [address(x), address(w), address(y)]
    assert launcher(x, w, out=None) is not y
    one = Signature((4, 8), device=CPU, alignment=4)
    several, _ = launcher_of(torch, inputs=(one,), outputs=(one, one))
    pair = (torch.empty(4, 8), torch.empty(4, 8))
    null.take()
    assert several(x, out=pair) is pair
    assert null.launches()[0]["parameters"] == [address(x), *map(address, pair)]
    assert not missed


def test_outputs_that_share_memory_are_a_miss(null, torch):
    one = Signature((4, 8), device=CPU)
    several, missed = launcher_of(torch, inputs=(one,), outputs=(one, one))
    x, base = torch.ones(4, 8), torch.empty(96)
    views = [base[at : at + 32].view(4, 8) for at in (0, 32, 31)]
    for out in ((x, x), (views[0], views[0]), (views[0], views[2]), (views[2], views[1])):
        assert several(x, out=out) == "missed"
    assert not null.launches()
    assert several(x, out=(views[1], views[0]))[0] is views[1]
    assert len(missed) == 4


def test_what_a_framework_allocates_is_its_own(torch):
    launcher, _ = launcher_of(torch)
    x, w = torch.ones(4, 8), torch.ones(8)
    y = launcher(x, w)
    assert y.untyped_storage().resizable()
    y.resize_(3, 5)
    torch.add(x, w, out=launcher(x, w).resize_(0))
    launcher(x, w).untyped_storage().resize_(0)
    with torch.inference_mode():
        assert launcher(x, w).is_inference()
    assert not launcher(x, w).is_inference()


def test_an_allocation_that_is_not_what_was_asked_for_is_a_miss(null, torch):
    for other in (lambda like: like[:2], lambda like: like.double(), lambda like: like.t().contiguous().t(), id):
        missed = Missed()
        launcher = Launcher(missed, types=(torch.Tensor,), empty_like=other)
        one = Signature((4, 8), device=CPU)
        launcher.add(plan_of(2), (one,), (one,), like=[torch.empty(4, 8)])
        assert launcher(torch.ones(4, 8)) == "missed"
    assert not null.launches()


def test_without_prototypes_outputs_have_to_be_given(torch):
    missed = Missed()
    launcher = Launcher(missed, types=(torch.Tensor,))
    one = Signature((4, 8), device=CPU)
    launcher.add(plan_of(2), (one,), (one,))
    x, y = torch.ones(4, 8), torch.empty(4, 8)
    assert launcher(x) == "missed"
    assert launcher(x, out=y) is y
    with pytest.raises(LaunchError, match="a launcher with empty_like: expected 1, got 1"):
        launcher.add(plan_of(2), (one,), (one,), like=[y])


def test_arrays_whose_framework_has_no_exchange_functions_are_a_miss(torch):
    launcher, missed = launcher_of(torch)

    class Foreign:
        __dlpack_c_exchange_api__ = torch.Tensor.__dlpack_c_exchange_api__

        def __dlpack__(self, **_keywords):
            raise NotImplementedError

        __dlpack_device__ = __dlpack__

    foreign = Launcher(missed, types=(Foreign,))
    one = Signature((4, 8), device=CPU)
    foreign.add(plan_of(1), (one,), ())
    assert foreign(Foreign()) == launcher(Foreign(), Foreign()) == "missed"


@pytest.mark.parametrize("count", [16, 17, 20, 64, 300])
def test_any_number_of_scalars_is_passed_and_all_of_them(null, torch, count):
    names = [f"s{number}" for number in range(count)]
    scalars = [Scalar("u32", name, 1000 + number) for number, name in enumerate(names)]
    one = Signature((4, 8), device=CPU)
    x = torch.ones(4, 8)
    fixed, missed = launcher_of(torch, scalars=scalars, keywords=names[-1:], inputs=(one,), outputs=())
    wanted = [struct.pack("<I", 1000 + number) for number in range(count)]
    for value in (5, 2**32 - 1):
        fixed(x, **{names[-1]: value})
        (launch,) = null.launches()
        assert launch["parameters"] == [address(x), *wanted[:-1], struct.pack("<I", value)]
    open_, missed_too = launcher_of(torch, scalars=scalars, keywords=names, inputs=(one,), outputs=())
    open_(x, **{name: 7 * number for number, name in enumerate(names)})
    (launch,) = null.launches()
    assert launch["parameters"] == [address(x), *(struct.pack("<I", 7 * number) for number in range(count))]
    assert not missed
    assert not missed_too


def test_tensor_guards_are_asked_of_every_tensor(torch):
    launcher, missed = launcher_of(torch, tensor_guards=(torch.Tensor.is_neg,))
    x, w, y = torch.ones(4, 8), torch.ones(8), torch.empty(4, 8)
    negated = torch._neg_view
    assert launcher(x, w, out=y) is y
    for tensors, out in (((negated(x), w), y), ((x, negated(w)), y), ((x, w), negated(y)), ((x, negated(w)), None)):
        assert launcher(*tensors, out=out) == "missed"
    assert len(missed) == 4


def test_writes_are_counted_before_the_launch(null, torch):
    counted = []
    launcher, _ = launcher_of(torch, count_writes=counted.append)
    launcher.add(plan_of(1), (Signature((7,), device=CPU),), (), mutated=(0,))
    x, w, y = torch.ones(4, 8), torch.ones(8), torch.empty(4, 8)
    launcher(x, w)
    assert counted == []
    launcher(x, w, out=y)
    seven = torch.ones(7)
    launcher(seven)
    assert [[id(each) for each in row] for row in counted] == [[id(y)], [id(seven)]]

    def refuse(_tensors):
        raise RuntimeError("no versions")

    refusing, _ = launcher_of(torch, count_writes=refuse)
    null.take()
    assert refusing(x, w, out=y) == "missed"
    assert null.launches() == []
    with pytest.raises(LaunchError, match=r"mutated must be indices of inputs, .* got \(1,\)"):
        launcher.add(plan_of(1), (Signature((9,), device=CPU),), (), mutated=(1,))


def test_what_is_forgotten_is_a_miss_and_may_be_added_again(null, torch):
    launcher, _ = launcher_of(torch)
    x, w = torch.ones(4, 8), torch.ones(8)
    launcher(x, w)
    before = null.live()["libraries"]
    launcher.forget()
    gc.collect()
    assert launcher(x, w) == "missed"
    assert null.live()["libraries"] == before - 1
    inputs = (Signature((4, 8), device=CPU), Signature((8,), device=CPU))
    launcher.add(plan_of(3), inputs, inputs[:1], like=[torch.empty(4, 8)])
    assert launcher(x, w) != "missed"


def test_threads_call_while_plans_are_forgotten(null, torch):
    launcher, missed = launcher_of(torch)
    null.record(on=False)
    x, w = torch.ones(4, 8), torch.ones(8)
    inputs = (Signature((4, 8), device=CPU), Signature((8,), device=CPU))
    calls, hits = 2_000, []

    def call() -> None:
        hits.append(sum(launcher(x, w) != "missed" for _ in range(calls)))

    def churn() -> None:
        for _ in range(100):
            launcher.forget()
            launcher.add(plan_of(3), inputs, inputs[:1], like=[torch.empty(4, 8)])

    threads = [threading.Thread(target=call) for _ in range(8)] + [threading.Thread(target=churn)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(hits) + len(missed) == 8 * calls
    assert null.count() >= sum(hits) > 0


def misses(torch):
    """Yield pairs of a name and call arguments for which the launcher has no plan and calls `miss`."""
    x, w = torch.ones(4, 8), torch.ones(8)

    class Mine(torch.Tensor):
        pass

    base = torch.ones(4 * 8 + 1, dtype=torch.float32)
    yield "dtype", (x.double(), w), {}
    yield "half", (x.half(), w), {}
    yield "integers", (x.int(), w), {}
    yield "shape", (torch.ones(8, 8), w), {}
    yield "rank", (torch.ones(4, 8, 1), w), {}
    yield "swapped", (w, x), {}
    yield "transposed", (torch.ones(8, 4).t(), w), {}
    yield "strides", (torch.ones(4, 16)[:, ::2], w), {}
    yield "expanded", (torch.ones(8).expand(4, 8), w), {}
    yield "device", (x.to("meta"), w), {}
    yield "sparse", (x.to_sparse(), w), {}
    yield "subclass", (x.as_subclass(Mine), w), {}
    yield "number", (x, 1.0), {}
    yield "none", (x, None), {}
    yield "too few", (x,), {}
    yield "too many", (x, w, w), {}
    yield "nothing", (), {}
    yield "very many", (x,) * 40, {}
    yield "keyword", (x, w), {"beta": 1}
    yield "out of another dtype", (x, w), {"out": x.double()}
    yield "out of another shape", (x, w), {"out": w}
    yield "out is not a tensor", (x, w), {"out": 1}
    yield "out in a tuple", (x, w), {"out": (base[:32].view(4, 8),)}
    yield "out with strides", (x, w), {"out": torch.ones(8, 4).t()}
    yield "complex conjugate", (torch.ones(4, 8, dtype=torch.complex64).conj(), w), {}


NAMES = (
    "dtype",
    "half",
    "integers",
    "shape",
    "rank",
    "swapped",
    "transposed",
    "strides",
    "expanded",
    "device",
    "sparse",
    "subclass",
    "number",
    "none",
    "too few",
    "too many",
    "nothing",
    "very many",
    "keyword",
    "out of another dtype",
    "out of another shape",
    "out is not a tensor",
    "out in a tuple",
    "out with strides",
    "complex conjugate",
)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_differs_is_a_miss_and_the_next_good_call_a_hit(null, torch, name):
    launcher, missed = launcher_of(torch)
    cases = {named: (tensors, keywords) for named, tensors, keywords in misses(torch)}
    assert cases.keys() == set(NAMES)
    tensors, keywords = cases[name]
    assert launcher(*tensors, **keywords) == "missed"
    ((given_tensors, given_keywords),) = missed
    assert all(a is b for a, b in zip(given_tensors, tensors, strict=True))
    assert given_keywords == keywords
    assert null.launches() == []
    assert launcher(torch.ones(4, 8), torch.ones(8)) != "missed"


def test_alignment_is_looked_at_in_every_call(torch):
    wanted = Signature((4, 8), device=CPU, alignment=16)
    launcher, missed = launcher_of(torch, inputs=(wanted,), outputs=(wanted,))
    base = torch.ones(64)
    offset = next(n for n in range(4) if (base.data_ptr() + 4 * n) % 16 == 0)
    aligned, off = base[offset : offset + 32].view(4, 8), base[offset + 1 : offset + 33].view(4, 8)
    assert launcher(aligned) != "missed"
    assert launcher(off) == "missed"
    assert launcher(aligned, out=off) == "missed"
    launcher.add(plan_of(2), (Signature((4, 8), device=CPU, alignment=4),), (wanted,), like=[torch.empty(4, 8)])
    assert launcher(off) != "missed"
    assert len(missed) == 2


def test_two_dtypes_and_shapes_live_side_by_side(torch):
    launcher, missed = launcher_of(torch)
    half = (Signature((4, 8), None, "f16", CPU), Signature((8,), None, "f16", CPU))
    wide = (Signature((4, 16), None, "f32", CPU), Signature((16,), None, "f32", CPU))
    x, w = torch.ones(4, 8), torch.ones(8)
    for inputs, tensors in ((half, (x.half(), w.half())), (wide, (torch.ones(4, 16), torch.ones(16)))):
        assert launcher(*tensors) == "missed"
        launcher.add(plan_of(3), inputs, inputs[:1], like=[torch.empty_like(tensors[0])])
        assert launcher(*tensors).dtype == tensors[0].dtype
    assert launcher(x, w).dtype == torch.float32
    assert len(missed) == 2


def test_extents_of_one_have_any_stride(torch):
    wanted = Signature((1, 8), (8, 1), device=CPU)
    launcher, missed = launcher_of(torch, inputs=(wanted,), outputs=())
    for x in (torch.ones(1, 8), torch.ones(4, 8)[:1], torch.ones(8).as_strided((1, 8), (77, 1))):
        launcher(x)
    assert not missed


def test_strided_tensors_and_offsets_are_launched_as_they_are(null, torch):
    wanted = Signature((4, 8), (16, 2), device=CPU)
    launcher, missed = launcher_of(torch, inputs=(wanted,), outputs=())
    x = torch.ones(5, 16)[1:, 1::2]
    assert launcher(x) is None
    assert null.launches()[0]["parameters"] == [address(x)]
    assert not missed


def test_an_output_has_its_prototypes_strides(torch):
    launcher, missed = launcher_of(
        torch, inputs=(Signature((4, 8), device=CPU),), outputs=(Signature((8, 4), (1, 8), device=CPU),)
    )
    x, y = torch.ones(4, 8), torch.empty(4, 8).t()
    assert launcher(x).stride() == (1, 8)
    assert launcher(x, out=y) is y
    assert not missed


def test_scalars_are_keywords_of_the_fast_path(null, torch):
    scalars = (Scalar("f32", "alpha"), Scalar("s32", "n", 7))
    launcher, missed = launcher_of(torch, scalars=scalars, keywords=("alpha",))
    x, w = torch.ones(4, 8), torch.ones(8)
    for alpha in (0.5, 2, torch.tensor(3.0).item()):
        launcher(x, w, alpha=alpha)
        found = null.launches()[0]["parameters"][3:]
        assert found == [struct.pack("<f", alpha), struct.pack("<i", 7)]
    assert launcher(x, w) == launcher(x, w, alpha="1") == launcher(x, w, alpha=1e39) == "missed"
    assert launcher(x, w, alpha=1, n=3) == "missed", "the launcher has no keyword n"
    assert len(missed) == 4


def test_guards_and_gradients_send_a_call_the_long_way(torch):
    state = {"guard": False, "grad": True}
    launcher, missed = launcher_of(
        torch, guards=(lambda: None, lambda: state["guard"]), grad_mode=lambda: state["grad"]
    )
    x, w = torch.ones(4, 8), torch.ones(8)
    wanting = x.clone().requires_grad_()
    assert launcher(x, w) != "missed"
    assert launcher(wanting, w) == launcher(torch.nn.Parameter(x), w) == "missed"
    state["grad"] = False
    assert launcher(wanting, w) != "missed"
    assert launcher(torch.nn.Parameter(x), w) != "missed"
    state["guard"] = 1
    assert launcher(x, w) == "missed"
    assert len(missed) == 3


@pytest.mark.parametrize("where", ["guards", "grad_mode"])
def test_errors_of_guards_are_raised(null, torch, where):
    def guard():
        raise ZeroDivisionError

    launcher, missed = launcher_of(torch, **{where: (guard,) if where == "guards" else guard})
    with pytest.raises(ZeroDivisionError):
        launcher(torch.ones(4, 8), torch.ones(8))
    assert not missed
    assert null.launches() == []


def test_errors_of_misses_and_of_the_driver_are_raised(null, torch):
    launcher, _ = launcher_of(torch)
    x, w = torch.ones(4, 8), torch.ones(8)
    null.fail("cuLaunchKernelEx", 700)
    with pytest.raises(DriverError, match="CUDA_ERROR_ILLEGAL_ADDRESS") as raised:
        launcher(x, w)
    assert (raised.value.name, raised.value.code) == ("CUDA_ERROR_ILLEGAL_ADDRESS", 700)
    assert launcher(x, w).shape == (4, 8)

    def miss(*tensors):
        raise KeyError(len(tensors))

    with pytest.raises(KeyError, match="2"):
        Launcher(miss, types=(torch.Tensor,))(x, w)


def test_an_allocation_that_fails_is_raised_and_launches_nothing(null, torch):
    huge, missed = Signature((2**20, 2**20), device=CPU), Missed()
    launcher = Launcher(missed, types=(torch.Tensor,), empty_like=torch.empty_like)
    like = torch.empty(1).expand(2**20, 2**20)
    launcher.add(plan_of(2), (Signature((4, 8), device=CPU),), (huge,), like=[like])
    with pytest.raises((MemoryError, RuntimeError)):
        launcher(torch.ones(4, 8))
    assert null.launches() == []
    assert not missed


def bad_additions():
    one = Signature((4, 8), device=CPU)
    yield plan_of(0), (), (), r"got 0 and 0 \(inputs and outputs\)"
    yield plan_of(3), (one,), (one,), "the plan at least 3"
    yield plan_of(1), (one,) * 33, (), "got 33 and 0"
    yield plan_of(1, Scalar("f32", "beta")), (one,), (), "scalar 'beta' has no value"
    yield plan_of(1), (Signature((4,), dtype="b1"),), (), "unsupported tensor type b1: DLPack"
    yield plan_of(1), (Signature((4,), (1, 1)),), (), "invalid strides"
    yield plan_of(1), (Signature((4,), alignment=0),), (), "alignment of a tensor must be a positive int, got 0"


def test_plans_that_no_call_could_launch_are_refused(torch):
    launcher = Launcher(print, types=(torch.Tensor,), scalars=("alpha",))
    for plan, inputs, outputs, message in bad_additions():
        with pytest.raises(LaunchError, match=message):
            launcher.add(plan, inputs, outputs)
    with pytest.raises(TypeError, match="has no DLPack exchange API"):
        Launcher(print, types=(list,))
    with pytest.raises(LaunchError, match="unknown fixed keyword 'size'"):
        launcher.add(plan_of(1), (Signature((4, 8), device=CPU),), (), fixed={"size": 1})


class Lazy:
    """Value whose `__eq__` must not be called."""

    def __eq__(self, other):
        raise AssertionError("asked")

    __hash__ = None


VALUES = [128, -1, 2**70, True, 1.5, -0.0, 1e300, "sum", "", None, b"", (16, 8), (16, (8.0, "a")), ()]
OTHERS = [129, 1, 2**70 + 1, 1, 1.0, 0, 0.0, "sun", Lazy(), [], [16, 8], (16, 8, 4), (16, 8.0), (16, Lazy()), (Lazy(),)]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_plan_is_for_one_value_of_each_fixed_keyword(null, torch, value):
    one, missed = Signature((4, 8), device=CPU), Missed()
    launcher = Launcher(missed, types=(torch.Tensor,), fixed=("size", "mode"))
    launcher.add(plan_of(1), (one,), (), fixed={"mode": "a", "size": value})
    x = torch.ones(4, 8)
    alike = ast.literal_eval(repr(value))  # a keyword value equal to `value`, usually another object
    for keywords in ({"size": value, "mode": "a"}, {"mode": "a", "size": value}, {"size": alike, "mode": "a"}):
        assert launcher(x, **keywords) is None
    for other in (each for each in [*VALUES, *OTHERS] if each is not value):
        assert launcher(x, size=other, mode="a") == "missed", other
    for keywords in ({}, {"size": value}, {"mode": "a"}, {"size": value, "mode": "b"}):
        assert launcher(x, **keywords) == "missed"
    assert len(null.launches()) == 3
    launcher.add(plan_of(1), (one,), ())
    assert launcher(x) is None


def test_a_call_without_inputs_is_launched_on_the_device_that_the_framework_tells(null, torch):
    one, missed, asked = Signature((4, 8), device=CPU), Missed(), []

    def place(witness):
        asked.append(witness)
        return 1 << 32 if witness is None or witness == "here" or isinstance(witness, torch.Tensor) else -1

    launcher = Launcher(
        missed, types=(torch.Tensor,), fixed=("N",), device="device", place=place, empty_like=torch.empty_like
    )
    launcher.add(plan_of(1), (), (one,), like=[torch.empty(4, 8)], fixed={"N": 8})
    y = torch.empty(4, 8)
    assert launcher(N=8).shape == launcher(N=8, device="here").shape == (4, 8)
    assert launcher(N=8, out=y) is y
    assert asked == [None, "here", y]
    assert null.launches()[2]["parameters"] == [address(y)]
    for keywords in ({}, {"N": 9}, {"N": 8, "device": "there"}, {"N": 8, "device": "here", "out": y}):
        assert launcher(**keywords) == "missed"
    assert launcher(N=8, out=torch.empty(8, 4)) == launcher(N=8, out=torch.empty(4, 8, device="meta")) == "missed"
    assert launcher(y, N=8) == launcher(y, N=8, device="here") == "missed"
    assert not null.launches()


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [("x2w3", {}), ("xw3", {"alpha": 2}), ("x2w", {"n": 3}), ("xw", {"alpha": 2, "n": 3})],
    ids=["by position", "the first scalar by name", "the second scalar by name", "by name"],
)
def test_numbers_stand_between_tensors_or_are_keywords(null, torch, arguments, keywords):
    scalars, names = (Scalar("f32", "alpha"), Scalar("s32", "n")), ("alpha", "n")
    known = {"x": torch.ones(4, 8), "w": torch.ones(8), "2": 2.0, "3": 3}
    positions = ((3, "n"), (1, "alpha"))
    launcher, _ = launcher_of(torch, scalars=scalars, keywords=names, outputs=(), positions=positions)
    assert launcher(*map(known.get, arguments), **keywords) is None
    wanted = [address(known["x"]), address(known["w"]), struct.pack("<f", 2), struct.pack("<i", 3)]
    assert null.launches()[0]["parameters"] == wanted
    for wrong in ("xw2w", "x2w33", "x2w", "x23w", "2xw3", ""):
        if wrong != arguments:
            assert launcher(*map(known.get, wrong), **keywords) == "missed"
    assert not null.launches()


def test_a_tensor_is_no_number(null, torch):
    launcher, _ = launcher_of(torch, scalars=(Scalar("f32", "alpha"),), keywords=("alpha",))
    x, w = torch.ones(4, 8), torch.ones(8)
    assert launcher(x, w, alpha=torch.tensor(2.0)) == launcher(x, w, alpha=torch.ones(1)) == "missed"
    assert not null.launches()


def test_the_first_plan_for_a_signature_stays(torch):
    launcher, _ = launcher_of(torch)
    inputs = (Signature((4, 8), device=CPU, alignment=4), Signature((8,), device=CPU, alignment=4))
    second = plan_of(3)
    kept = weakref.ref(second.module)
    launcher.add(second, inputs, inputs[:1])
    del second
    gc.collect()
    assert kept() is None


def test_ten_thousand_specializations_are_told_apart(null, torch):
    launcher, missed = launcher_of(torch)
    plan = plan_of(1)
    for n in range(1, 10_001):
        launcher.add(plan, (Signature((n, 3), device=CPU),), ())
    for n in (1, 77, 4999, 5000, 9999, 10_000):
        assert launcher(torch.ones(n, 3)) is None
    assert launcher(torch.ones(10_001, 3)) == "missed"
    assert (len(null.launches()), len(missed)) == (6, 1)


def test_threads_call_and_add_at_once(null, torch):
    launcher, _ = launcher_of(torch)
    plan = plan_of(1)
    x, w = torch.ones(4, 8), torch.ones(8)
    wrong = []

    def call() -> None:
        for _ in range(300):
            wrong.extend(each for each in [launcher(x, w)] if each == "missed")

    def add(first: int) -> None:
        for n in range(300):
            launcher.add(plan, (Signature((first + n, 5), device=CPU),), ())
            if launcher(torch.ones(first + n, 5)) is not None:
                wrong.append("not added")

    threads = [threading.Thread(target=call) for _ in range(4)]
    threads += [threading.Thread(target=add, args=(1000 * number + 1,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(null.launches()) == 4 * 300 + 2 * 300


def test_a_launcher_in_a_cycle_is_collected(null, torch):
    class Owner:
        def __call__(self):
            return None

    owner = Owner()
    owner.launcher = Launcher(owner, types=(torch.Tensor,))
    owner.launcher.add(plan_of(1), (Signature((4,), device=CPU),), ())
    gone = weakref.ref(owner)
    before = null.live()["libraries"]
    del owner
    gc.collect()
    assert gone() is None
    assert null.live()["libraries"] == before - 1
