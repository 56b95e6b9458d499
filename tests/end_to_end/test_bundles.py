"""Ahead-of-time compiled kernels: exported by the command, loaded without their source, and run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import pyptx
from pyptx.bundles import BundleError, export
from pyptx.types import f32
from pyptx_dsl.errors import ArchError, ContractError, DtypeError, KeywordError, LaunchError, RuntimeMissingError
from pyptx_dsl.inspect.answers import Listing, assembled
from pyptx_dsl.kernels.images import image_of
from pyptx_ir.commands import main
from pyptx_ir.plugins.rows import Argument

from . import bundle_kernels
from .gallery import EXAMPLE_LIST, EXAMPLES, Example

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = pytest.mark.ptxas

KERNELS = Path(bundle_kernels.__file__)


def sizes_of(example: Example) -> dict[str, int]:
    """Return the sizes of the dimensions of the example's inputs."""
    arrays = example.inputs(np.random.default_rng(0))
    found: dict[str, int] = {}
    for tile, array in zip(example.launch().in_specs, arrays, strict=True):
        found.update(tile.extract_env(array.shape))
    return found


@pytest.mark.parametrize("example", EXAMPLE_LIST, ids=lambda example: example.file)
def test_a_loaded_kernel_computes_what_the_kernel_does(example: Example, tmp_path: Path) -> None:
    kernel = example.launch()
    loaded = pyptx.load(export(kernel, [sizes_of(example)], tmp_path / "bundle"))[example.kernel]
    results = []
    for launch in (kernel, loaded):
        arrays = example.inputs(np.random.default_rng(0))
        returned = launch(*arrays)
        results.append(arrays[example.in_place] if example.in_place is not None else returned)
    np.testing.assert_array_equal(results[0], results[1])
    assert loaded.ptx() == kernel.ptx(**sizes_of(example))
    (special,) = loaded.specializations
    assert image_of(special) == loaded.cubin() == assembled(Listing.of(special)).cubin
    assert loaded.resources() == kernel.resources(**sizes_of(example))


def test_the_source_is_not_needed(tmp_path: Path) -> None:
    folder = export(bundle_kernels.scale, [{"N": 300, "alpha": 2.0, "count": 300}], tmp_path / "bundle")
    program = (
        "import sys, numpy, pyptx; kernel = pyptx.load(sys.argv[1])['scale'];"
        "assert 'bundle_kernels' not in str(sys.modules); x = numpy.ones(300, numpy.float32);"
        "assert (kernel(x) == 2).all(); assert (kernel(x, out=x) is x) and x[0] == 2"
    )
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True, cwd=tmp_path)


@pytest.mark.torch
def test_torch_runs_a_loaded_kernel_eagerly_and_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setenv("PYPTX_CPU", "quiet")
    choices = [{"N": 8, "count": 8}, {"N": 16, "count": 16}]
    loaded: Any = pyptx.load(export(bundle_kernels.scale, choices, tmp_path / "bundle"))["scale"]
    compiled = torch.compile(lambda x: loaded(x, alpha=3.0) + 1, fullgraph=True, backend="eager")
    for size in (8, 16):
        assert torch.equal(loaded(torch.ones(size), alpha=3.0), torch.full((size,), 3.0))
        assert torch.equal(compiled(torch.ones(size)), torch.full((size,), 4.0))
    with pytest.raises(ContractError, match="not compiled for N=9"):
        loaded(torch.ones(9), alpha=3.0)


@pytest.mark.jax
def test_jax_runs_a_loaded_kernel_inside_jit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    monkeypatch.setenv("PYPTX_CPU", "quiet")
    loaded: Any = pyptx.load(export(bundle_kernels.scale, [{"N": 8, "count": 8}], tmp_path / "bundle"))["scale"]
    jitted = jax.jit(lambda x: loaded(x, alpha=3.0) + 1)
    assert (jitted(jax.numpy.ones(8)) == 4).all()


# --- choosing a specialization ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def scales(tmp_path_factory: pytest.TempPathFactory) -> pyptx.bundles.LoadedKernel:
    choices: list[dict[str, object]] = [
        {"N": 256, "count": 256},
        {"N": 512, "count": 512},
        {"N": 512, "count": 512, "twice": True},
    ]
    return pyptx.load(export(bundle_kernels.scale, choices, tmp_path_factory.mktemp("scales") / "bundle"))["scale"]


def ones(size: int, dtype: Any = np.float32) -> Any:
    return np.ones(size, dtype)


def test_the_specialization_whose_inputs_fit_is_taken(scales: Any) -> None:
    assert len(scales.specializations) == 3
    assert scales(ones(256), alpha=2.0).sum() == 512
    assert scales(ones(512), alpha=2.0, twice=False).sum() == 1024
    assert scales(ones(512), alpha=2.0, twice=True).sum() == 2048
    assert scales(ones(256), alpha=2.0, N=np.int64(256), count=256).sum() == 512
    assert scales.ptx(N=256) != scales.ptx(N=512, twice=True)


@pytest.mark.parametrize(
    ("arrays", "keywords", "error", "message"),
    [
        ([ones(512)], {"alpha": 1.0}, KeywordError, "was compiled 2 times(.|\\n)*twice=False(.|\\n)*twice=True"),
        ([ones(300)], {"alpha": 1.0}, ContractError, r"not compiled for N=300(.|\n)*N=256(.|\n)*N=512"),
        ([ones(256, np.float64)], {"alpha": 1.0, "N": 256}, DtypeError, "X has dtype f64"),
        ([ones((2, 128))], {"alpha": 1.0, "N": 256}, ContractError, "X has 2 dimensions"),
        ([ones(300)], {"alpha": 1.0, "N": 256}, ContractError, "N=256 contradicts the arrays, where N is 300"),
        ([ones(512)[::2]], {"alpha": 1.0, "N": 256}, ContractError, "strides"),
        ([], {"alpha": 1.0, "N": 256, "out": ones(256)}, ContractError, "expected 1 array .* got 0"),
        ([ones(256)], {}, KeywordError, "missing raw parameter 'alpha'"),
        ([ones(256)], {"alpha": "x"}, KeywordError, "which is declared f32"),
        ([ones(256)], {"alpha": 1.0, "count": 3}, KeywordError, "not compiled for count=3"),
        ([ones(256)], {"alpha": 1.0, "beta": 3}, KeywordError, "no dimension, template or raw parameter 'beta'"),
        ([[1.0]], {"alpha": 1.0}, RuntimeMissingError, "no installed runtime runs arguments of type list"),
    ],
)
def test_a_call_that_fits_nothing_says_what_there_is_and_the_next_good_one_works(
    scales: Any, arrays: list[Any], keywords: Mapping[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        scales(*arrays, **keywords)
    assert Path(__file__).name in str(caught.value)
    assert scales(ones(256), alpha=2.0)[0] == 2


def test_an_address_that_is_not_aligned_is_refused(scales: Any) -> None:
    with pytest.raises(ContractError, match="not a multiple of 4"):
        scales.specialize([Argument((256,), "f32", (1,), 6)], {"alpha": 1.0})


def test_a_bundle_says_what_it_holds(tmp_path: Path) -> None:
    bundle = pyptx.load(export(bundle_kernels.nothing, [], tmp_path / "bundle", name="quiet"))
    assert (list(bundle), len(bundle)) == (["nothing"], 1)
    assert repr(bundle).endswith("bundle': nothing)")
    assert repr(bundle["nothing"]) == "LoadedKernel(nothing, arch='sm_80', 1 specializations)"
    assert (bundle.version, bundle.compiler.split()[0]) == (pyptx.__version__, "ptxas")
    assert {path.name for path in bundle.path.iterdir()} == {
        *("manifest.json", "quiet.c", "quiet.cubin", "quiet.h", "quiet.ptx")
    }
    with pytest.raises(KeyError):
        bundle["something"]


# --- exporting --------------------------------------------------------------------------------------


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_export_has_the_same_bytes_in_any_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["export", f"{EXAMPLES}/hopper/rms_norm.py:rms_norm", "--shape", "B=4,N=512", "--shape", "B=8,N=1024"]
    assert main([*words, "-o", str(tmp_path / "one")]) == 0
    monkeypatch.setenv("PYPTX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    subprocess.run([sys.executable, "-m", "pyptx", *words, "-o", str(tmp_path / "two")], check=True)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert main([*words[:-2], "-o", str(tmp_path / "two")]) == 0  # exporting again replaces the bundle
    assert contents(tmp_path / "one") != contents(tmp_path / "two")
    assert len(contents(tmp_path / "two")) == 5
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_the_command_reads_values_and_prints_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["export", f"{KERNELS}:scale", "--shape", "N=64", "--set", "twice=True", "--set", "alpha=0.5"]
    assert main([*words, "--set", "dtype=f32", "--name", "half", "-o", str(tmp_path / "bundle")]) == 0
    assert "half.cubin " in capsys.readouterr().out
    loaded: Any = pyptx.load(tmp_path / "bundle")["scale"]
    assert loaded(ones(64), count=32, twice=True, dtype=f32, alpha=0.5).sum() == 32 * 0.25 + 32


def test_a_file_may_be_called_like_any_module(tmp_path: Path) -> None:
    import json

    (tmp_path / "json.py").write_text(KERNELS.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["export", f"{tmp_path}/json.py:nothing", "-o", str(tmp_path / "bundle")]) == 0
    assert sys.modules["json"] is json
    assert str(tmp_path) not in sys.path


def test_another_target_is_traced_and_checked_anew(tmp_path: Path) -> None:
    words = ["export", f"{KERNELS}:scale", "--shape", "N=64", "-o", str(tmp_path / "bundle"), "--arch", "sm_90a"]
    assert main(words) == 0
    (special,) = pyptx.load(tmp_path / "bundle")["scale"].specializations
    assert special.target == "sm_90a"
    assert ".target sm_90a" in special.text
    assert "compiled ahead of time for sm_90a" in (tmp_path / "bundle" / "scale.h").read_text(encoding="ascii")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ([], 2, "required: MODULE:KERNEL, -o"),
        (["{file}:scale"], 2, "required: -o"),
        (["{file}:scale", "-o", "{out}", "--shape", "N"], 2, "expected NAME=VALUE, got 'N'"),
        (["{file}:scale", "-o", "{out}", "--set", "=3"], 2, "expected NAME=VALUE, got '=3'"),
        (["{file}", "-o", "{out}"], 1, "defines 12 kernels"),
        (["{file}:", "-o", "{out}"], 1, "defines 12 kernels"),
        (["{file}:scales", "-o", "{out}"], 1, "scales does not exist\nhelp: did you mean scale"),
        (["{file}:not_a_kernel", "-o", "{out}"], 1, "not_a_kernel is not a kernel"),
        (["nowhere.py:scale", "-o", "{out}"], 1, "file not found: nowhere.py"),
        (["no.such.module:scale", "-o", "{out}"], 1, "cannot import no.such.module: ModuleNotFoundError"),
        (["{broken}:scale", "-o", "{out}"], 1, "broken.py: ZeroDivisionError"),
        (["json:loads", "-o", "{out}"], 1, "json: loads is not a kernel"),
        (["{file}:scale", "-o", "{out}"], 1, "no size for N\nhelp: pass every size: --shape"),
        (["{file}:scale", "-o", "{out}", "--shape", "N=-1"], 1, "dimension N must be a positive int, got -1"),
        (["{file}:scale", "-o", "{out}", "--shape", "N=64,M=3"], 1, "has no dimension, template or raw parameter 'M'"),
        (["{file}:scale", "-o", "{out}", "--shape", "N=64", "--shape", "N=64"], 1, "two specializations are named"),
        (["{file}:scale", "-o", "{out}", "--shape", "N=64", "--name", "a-b"], 1, "invalid name 'a-b' of C functions"),
        (["{file}:scale", "-o", "{out}", "--shape", "N=64", "--arch", "sm_9"], 1, "sm_9"),
        (["{file}:scale", "-o", "{out}", "--shape", "N=64", "--set", "dtype=f33"], 1, "unknown PTX type 'f33'"),
        (["{file}:everything", "-o", "{out}", "--shape", "M=8", "--arch", "sm_80"], 1, "does not support clusters"),
        (["{file}:pointed", "-o", "{out}", "--shape", "N=64"], 1, "is passed by pointer"),
        (["{file}:undescribed", "-o", "{out}"], 1, "has no array specs"),
        (["{file}:placed", "-o", "{out}", "--shape", "N=64"], 1, "raw parameter place is not a scalar"),
        (["{file}:nothing", "-o", "{taken}"], 1, "exists and is not a bundle"),
        (["{file}:nothing", "-o", "{broken}"], 1, "exists and is not a bundle"),
        (["{file}:nothing", "-o", "{broken}/x"], 1, "cannot write"),
    ],
)  # fmt: skip
def test_a_wrong_export_is_one_clear_error(
    words: list[str], status: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("scale = 1 / 0\n", encoding="utf-8")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "work.txt").write_text("mine", encoding="utf-8")
    places = {
        "{file}": str(KERNELS),
        "{out}": str(tmp_path / "out"),
        "{broken}": str(tmp_path / "broken.py"),
        "{taken}": str(tmp_path / "taken"),
    }
    for place, path in places.items():
        words = [word.replace(place, path) for word in words]
    assert main(["export", *words]) == status
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert (tmp_path / "taken" / "work.txt").read_text(encoding="utf-8") == "mine"


def test_limits_of_another_target_are_held(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="not support clusters"):
        export(bundle_kernels.everything, [{"M": 8}], tmp_path / "b", arch="sm_80")
    with pytest.raises(ArchError, match="sm_1"):
        export(bundle_kernels.nothing, [], tmp_path / "b", arch="sm_1")


@pytest.mark.hopper
def test_launch_attributes_of_another_target_are_held_too(tmp_path: Path) -> None:
    @pyptx.kernel(grid=(1, 1, 1), launch={"programmatic_stream_serialization": True})
    def following():
        pyptx.ptx.ret()

    assert export(following, [], tmp_path / "b", arch="sm_90")
    with pytest.raises(LaunchError, match=r"capability 9\.0; the kernel is for sm_80"):
        export(following, [], tmp_path / "b", arch="sm_80")


def test_names_that_c_cannot_have_are_refused(tmp_path: Path) -> None:
    @pyptx.kernel(grid=(1, 1, 1), arch="sm_80")
    def sized(*, größe=1):  # noqa: ARG001, PLC2401  a name that Python allows
        pyptx.ptx.ret()

    with pytest.raises(BundleError, match="is not a valid C identifier"):
        export(sized, [], tmp_path / "b")


def test_a_symbolic_link_is_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(BundleError, match="exists and is not a bundle"):
        export(bundle_kernels.nothing, [], tmp_path / "link")


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cannot read"):
        pyptx.load(tmp_path / ("x" * 300))
