"""A saved program calls the kernel that it was saved with, or reports that the kernel differs."""

from __future__ import annotations

import os
import sys
import textwrap
import types
from itertools import cycle

import pytest
import torch
from tools.forks import Forks
from torch.fx.experimental.proxy_tensor import make_fx

from pyptx_torch import operators
from pyptx_torch.errors import KernelMismatchError, OperatorNameError
from pyptx_torch.fingerprints import fingerprint_of
from pyptx_torch.literals import Literals

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

FACTORY = """
from dataclasses import dataclass
from pyptx_dsl import ptx, reg
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32, u32
import helpers

SCALE = 1.0

@dataclass(frozen=True, slots=True)
class Config:
    times: int

def square(value):
    assert "x" in {"w", "x", "y", "z"}  # a constant whose order is another in each process
    return value * value * SCALE

def triple(value):
    return value * 3.0

def thrice(value):
    return helpers.times(value, 3.0)

class Adding:
    def __init__(self, step):
        self.step = step
    def __call__(self, value):
        return value + self.step

def make(activation, config=Config(1), bias=(0.0,)):
    @kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),), grid=lambda N: N // 32, block=32)
    def fused(X, Y, *, function=None):
        x, y = ptx.global_ptrs(X, Y)
        at = reg.from_(ptx.special.tid.x(), u32) + reg.from_(ptx.special.ctaid.x(), u32) * 32
        value = reg.scalar(f32)
        ptx.inst.ld.global_.f32(value, ptx.addr(x + at * 4))
        for _ in range(config.times):
            value = activation(value)
        if function is not None:
            value = function(value)
        ptx.inst.st.global_.f32(ptx.addr(y + at * 4), value + bias[0])
        ptx.ret()
    return fused
"""
IMPORTS = """
import torch
import pyptx_sim, pyptx_torch

# Load what the programs use; it is not loaded by the imports above.
pyptx_sim.run(".version 8.0\\n.target sm_90\\n.address_size 64\\n.visible .entry k()\\n{\\nret;\\n}", grid=1, block=32)
x, model = torch.ones(32), torch.nn.ReLU()
for strict in (True, False):
    torch.export.export(model, (x,), strict=strict)
torch.compile(model, backend="aot_eager")(x)
"""
HELPERS = "def times(value, factor):\n    return value * factor\n"


HEAD = """
    import torch
    import pyptx_torch
    from factory import Adding, make, square, triple
    x = torch.arange(-32.0, 32.0)

    def export(kernel, file):
        class Model(torch.nn.Module):
            def forward(self, x):
                return kernel(x)
        torch.export.save(torch.export.export(Model(), (x,)), file)
"""


@pytest.fixture(scope="module")
def processes():
    """Two processes that fork: a program and the next one are forks of different processes."""
    environment = {**os.environ, "PYPTX_CPU": "quiet", "PYPTX_CHECKS": "off"}
    both = [Forks(IMPORTS, environment, "-W", "ignore", "-B") for _ in range(2)]
    yield cycle(both)
    for each in both:
        each.close()


@pytest.fixture
def run(tmp_path, processes):
    """Return a function that runs a program in a folder with the module `factory` and returns its output."""
    (tmp_path / "factory.py").write_text(FACTORY, encoding="ascii")
    (tmp_path / "helpers.py").write_text(HELPERS, encoding="ascii")
    return lambda source: next(processes).run(tmp_path, textwrap.dedent(HEAD) + textwrap.dedent(source)).strip()


def digest(monkeypatch, expression="make(square)", *, file="factory.py", factory=FACTORY, helpers=HELPERS):
    """Return the digest of a kernel of the module `factory`, read from a file of that name."""
    for name, text in (("helpers", helpers), ("factory", factory)):
        module = types.ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, file, "exec"), vars(module))  # noqa: S102 - our own text
    return fingerprint_of(eval(expression, vars(module))).digest  # noqa: S307 - our own text


@pytest.mark.long
def test_a_program_calls_the_kernel_that_it_was_saved_with_in_whatever_order_kernels_are_made(run):
    run(
        """
    for kernel in (first := make(triple), second := make(square), third := make(triple, bias=(1.0,))):
        kernel(x)
    export(first, "first.pt2")
    export(second, "second.pt2")
    export(third, "third.pt2")
    """,
    )
    loaded = run(
        """
    kernels = [make(triple, bias=(1.0,)), make(square), make(triple)]
    for kernel in kernels:
        pyptx_torch.register(kernel)
    for name in ("first", "second", "third"):
        print(torch.export.load(f"{name}.pt2").module()(x)[30].item())
    """,
    )
    assert loaded.split() == ["-6.0", "4.0", "-5.0"]


def test_lines_and_paths_do_not_change_a_name(monkeypatch):
    shifted = FACTORY.replace("def square", "# a comment\n\n\ndef square").replace(
        "    return fused", "\n    return fused"
    )
    assert digest(monkeypatch) == digest(monkeypatch, factory=shifted, file="elsewhere/factory.py")


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        ("make(square)", {"factory": FACTORY.replace("value * value *", "value + value *")}),
        ("make(square)", {"factory": FACTORY.replace("SCALE = 1.0", "SCALE = 2.0")}),
        ("make(square)", {"factory": FACTORY.replace("value + bias[0]", "value - bias[0]")}),
        ("make(thrice)", {"helpers": HELPERS.replace("*", "+")}),
        ("make(lambda value: value)", {"factory": FACTORY.replace("Config(1)", "Config(2)")}),
        ("make(Config)", {"factory": FACTORY.replace("times: int", "times: int = 1")}),
    ],
    ids=["function", "global", "body", "module", "default", "class"],
)
def test_the_code_and_the_values_that_a_kernel_uses_change_its_name(monkeypatch, expression, changed):
    assert digest(monkeypatch, expression) == digest(monkeypatch, expression)
    assert digest(monkeypatch, expression) != digest(monkeypatch, expression, **changed)


VALUES = [
    "square",
    "triple",
    "lambda value: value",
    "lambda value: value + 0.0",
    "square, Config(2)",
    "square, Config(3)",
]


def test_kernels_of_one_factory_have_names_of_their_own(monkeypatch):
    assert len({digest(monkeypatch, f"make({value})") for value in VALUES}) == len(VALUES)


def test_a_name_that_may_be_another_kernels_is_an_error_only_where_a_program_leaves_the_process(run):
    printed = run(
        """
    twins = make(square), make(square)
    pyptx_torch.register(twins[0])
    for kernel, eager in ((twins[1], 0.0), (make(Adding(1.0)), 1.0)):
        print(kernel(x)[32].item() == eager)
        print(torch.compile(kernel, backend="eager")(x)[32].item() == eager)
        for leave in (pyptx_torch.register, lambda kernel: export(kernel, "left.pt2")):
            try:
                leave(kernel)
            except ValueError as error:
                print(type(error).__name__, 'register(fused, name="' in str(error))
        pyptx_torch.register(kernel, name=f"fused_plus_{eager:.0f}")
        export(kernel, f"{eager}.pt2")
    """,
    )
    assert printed.split("\n") == ["True", "True", *["OperatorNameError True"] * 2] * 2
    loaded = """
    pyptx_torch.register(make(square), name="fused_plus_0")
    pyptx_torch.register(make(Adding(1.0)), name="fused_plus_1")
    for eager in (0.0, 1.0):
        print(torch.export.load(f"{eager}.pt2").module()(x)[32].item())
    """
    assert run(loaded).split() == ["0.0", "1.0"]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.long
def test_a_program_that_meets_another_kernel_of_its_name_is_an_error(run, strict):
    saved = f"""
    kernel = make(square)
    kernel(x)
    assert pyptx_torch.register(kernel, name="act") == "pyptx::act"
    class Model(torch.nn.Module):
        def forward(self, x):
            return kernel(x)
    torch.export.save(torch.export.export(Model(), (x,), strict={strict}), "act.pt2")
    torch.jit.save(torch.jit.trace(lambda x: kernel(x), (x,)), "act.pt")
    print(kernel(x)[30].item(), torch.compile(kernel, backend="aot_eager")(x)[30].item())
    """
    assert run(saved) == "4.0 4.0"
    loaded = """
    pyptx_torch.register(make({}), name="act")
    for load in (lambda: torch.export.load("act.pt2").module(), lambda: torch.jit.load("act.pt")):
        try:
            print(load()(x)[30].item())
        except Exception as error:
            print(type(error).__name__, "saved with another kernel" in str(error))
    """
    assert run(loaded.format("square")).splitlines() == ["4.0", "4.0"]
    exported, traced = run(loaded.format("triple")).splitlines()
    assert exported == "KernelMismatchError True"
    assert traced.endswith("Error True")


def test_a_program_without_a_fingerprint_names_the_operator_that_it_lacks_and_runs_under_that_name(run):
    saved = """
    from pyptx_torch.literals import Literals
    spell = Literals.spell
    Literals.spell = lambda self, keywords, *, signed=False: spell(self, keywords)  # as it was without fingerprints
    pyptx_torch.register(kernel := make(square), name="fused_0123abcd")
    class Model(torch.nn.Module):
        def forward(self, x):
            return kernel(x) + kernel(x, function=None)
    torch.export.save(torch.export.export(Model(), (x,)), "old.pt2")
    torch.jit.save(torch.jit.trace(Model(), (x,)), "old.pt")
    """
    run(saved)
    loaded = """
    import logging
    logging.disable(logging.CRITICAL)
    pyptx_torch.register(kernel := make(square), {})
    for load in (lambda: torch.export.load("old.pt2").module(), lambda: torch.jit.load("old.pt")):
        try:
            print(load()(x)[30].item())
        except RuntimeError as error:
            print(type(error).__name__, "pyptx::fused_0123abcd" in str(error))
    try:
        print(torch.ops.pyptx.fused_0123abcd(x)[30].item())
    except AttributeError as error:
        print(str(error).splitlines()[-1])
    """
    assert run(loaded.format("name='fused_0123abcd'")).splitlines() == ["8.0", "8.0", "4.0"]
    exported, traced, help = run(loaded.format("")).splitlines()
    assert exported == "RuntimeError False"  # torch raised the error; only a warning names the operator
    assert traced == "RuntimeError True"
    assert "pyptx_torch.register(kernel, name='fused_0123abcd')" in help


@pytest.fixture
def kernel():
    from .kernels import build_double

    return build_double(160)


def graph_of(kernel, x):
    def function(x):
        return kernel(x)

    return make_fx(function)(x)


def test_a_kernel_is_renamed_after_calls_and_graphs_of_its_old_name_go_on(kernel):
    x = torch.ones(160)
    traced = graph_of(kernel, x)
    before = operators.operator_of(kernel).name
    assert operators.register(kernel, name="renamed_double") == "pyptx::renamed_double"
    assert operators.register(kernel, name="renamed_double") == operators.register(kernel)
    again = graph_of(kernel, x)
    assert before in str(traced.graph)
    assert "pyptx.renamed_double" in str(again.graph)
    for function in (traced, again, kernel, torch.compile(kernel, backend="eager")):
        assert torch.equal(function(x), 2 * x)
    with pytest.raises(OperatorNameError, match="already registered as pyptx::renamed_double"):
        operators.register(kernel, name="another")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, "expected an identifier") for name in ("", "a b", "a.b", "a::b", "1a", "_a", "é", 3)),
        *((name, "is already used") for name in ("packets", "name", "missing_gradient")),
    ],
)
def test_a_name_that_torch_cannot_give_is_an_error(kernel, name, words):
    with pytest.raises(OperatorNameError, match=words):
        operators.register(kernel, name=name)


def test_a_name_of_another_kernel_is_an_error(kernel):
    from .kernels import power

    with pytest.raises(OperatorNameError, match="is already used"):
        operators.register(kernel, name=operators.operator_of(power).name)


def test_what_is_recorded_carries_the_fingerprint_and_a_call_does_not(kernel):
    x, literals = torch.ones(160), operators.operator_of(kernel).literals
    (node,) = (node for node in graph_of(kernel, x).graph.nodes if "pyptx" in str(node.target))
    assert node.kwargs["keywords"] == literals.spell({}, signed=True)
    assert literals.read(literals.spell({"BM": 1}, signed=True)) == {"BM": 1}
    assert literals.spell({}) == ""
    with pytest.raises(KernelMismatchError, match="another kernel"):
        Literals("kernel", "of another digest").read(node.kwargs["keywords"])


def test_a_chosen_name_stands_for_the_kernel_in_other_versions_of_python():
    here, there = Literals("kernel", "digest"), "'3.9 of other bytecode', BM=1"
    with pytest.raises(KernelMismatchError):
        here.read(there)
    here.name_is_chosen()
    assert here.read(there) == {"BM": 1}


def test_a_template_value_that_no_other_process_has_is_an_error_of_the_export(run):
    printed = run(
        """
    kernel, plus = make(square), lambda value: value + 1.0
    class Model(torch.nn.Module):
        def forward(self, x):
            return kernel(x, function=plus)
    print(kernel(x, function=plus)[32].item(), torch.compile(Model(), backend="eager")(x)[32].item())
    for strict in (True, False):
        try:
            torch.export.export(Model(), (x,), strict=strict)
        except TypeError as error:
            print(type(error).__name__, "function of an exported program must be a literal" in str(error))
    torch.jit.save(torch.jit.trace(Model(), (x,)), "kept.pt")
    """,
    )
    assert printed.splitlines() == ["1.0 1.0", "KeywordError True", "KeywordError True"]
    loaded = """
    pyptx_torch.register(kernel := make(square))
    kernel(x, function=lambda value: value + 2.0)
    try:
        print(torch.jit.load("kept.pt")(x)[32].item())
    except Exception as error:
        print("of another process" in str(error))
    """
    assert run(loaded) == "True"


@pytest.mark.parametrize(
    "values",
    [
        ("functools.partial(max, 1)", "functools.partial(max, 2)"),
        ('"a".join', '"b".join'),
        ("{1: 2}", "{1: 3}"),
        "{1}",
        "int",
    ],
    ids=str,
)
def test_closed_over_values_are_told_apart_by_what_they_hold(monkeypatch, values):
    factory = FACTORY + "import functools\n"
    given = values if isinstance(values, tuple) else (values, "{2}")
    assert len({digest(monkeypatch, f"make({value})", factory=factory) for value in given}) == 2


@pytest.mark.parametrize(
    ("value", "told"), [("object()", "activation (object)"), ("[Adding(1)]", "activation[0] (Adding)")]
)
def test_what_has_no_value_is_named(monkeypatch, value, told):
    digest(monkeypatch)
    assert fingerprint_of(eval(f"make({value})", vars(sys.modules["factory"]))).unknown == (told,)  # noqa: S307 - our own text
