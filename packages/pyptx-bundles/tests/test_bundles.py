"""`pyptx export`, `load`, and the records of launches, without an architecture package and a framework."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from pyptx_bundles import BundleError, export, load, record, restore
from pyptx_dsl import ptx
from pyptx_dsl.contract.specs import Tile
from pyptx_dsl.kernels.decorator import kernel
from pyptx_dsl.types import f32
from pyptx_ir.commands import main
from pyptx_ir.plugins.rows import Argument

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
from pyptx_dsl import ptx
from pyptx_dsl.kernels.decorator import kernel
"""
EMPTY = """
@kernel(arch="sm_80")
def nothing(*, flag=0):
    ptx.ret()
"""


@kernel(
    in_specs=(Tile("N", f32),),
    out_specs=(Tile("N", f32),),
    raw_params=[("f32", "alpha")],
    grid=lambda N: N,
    block=(32, 1, 1),
    arch="sm_80",
)
def scale(X, Y, *, twice=False):  # noqa: ARG001  the tests compile it; it does not run
    """Kernel with a symbolic size, a scalar and a template parameter."""
    ptx.ret()


def written(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.ptxas
def test_a_bundle_is_loaded_as_it_was_exported(tmp_path: Path) -> None:
    choices = [{"N": 64, "alpha": 0.5}, {"N": 128, "alpha": 0.5, "twice": True}]
    path = export(scale, choices, tmp_path / "bundle", name="scales")
    assert {each.name for each in path.iterdir()} >= {"manifest.json", "scales.c", "scales.h"}
    bundle = load(path)
    assert list(bundle) == ["scale"]
    assert repr(bundle["scale"]) == "LoadedKernel(scale, arch='sm_80', 2 specializations)"
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    assert {each.name: each.read_bytes() for each in export(scale, choices, path, name="scales").iterdir()} == before


@pytest.mark.ptxas
def test_a_damaged_bundle_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = export(scale, [{"N": 64, "alpha": 0.5}], tmp_path / "bundle")
    (cubin,) = path.glob("*.cubin")
    cubin.write_bytes(cubin.read_bytes()[:-1])
    with pytest.raises(BundleError, match=cubin.name):
        load(path)
    (path / "manifest.json").write_text("{")
    with pytest.raises(BundleError):
        load(path)


def test_a_launch_comes_back_from_json() -> None:
    special = scale.specialize([Argument((64,), "f32", (1,))], {"alpha": 0.1})
    assert restore(json.loads(json.dumps(record(special), allow_nan=False))) == special


@pytest.mark.ptxas
@pytest.mark.parametrize("place", ["kernels.py", "kernels"])
def test_the_function_of_an_exported_kernel_may_import_from_its_folder(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"common_of_{place.replace('.', '_')}"
    written(tmp_path / f"{name}.py", "COUNT = 7\n")
    late = EMPTY.replace("    ptx.ret", f"    from {name} import COUNT\n    assert COUNT == flag\n    ptx.ret")
    written(tmp_path / f"kernels{'' if place.endswith('py') else '_of_folder'}.py", HEAD + late)
    monkeypatch.chdir(tmp_path)
    word = f"{place}:nothing:flag=7" if place.endswith("py") else "kernels_of_folder:nothing"
    given = [] if place.endswith("py") else ["--set", "flag=7"]
    assert main(["export", word, "-o", str(tmp_path / "bundle"), *given]) == 0, capsys.readouterr().err
    assert str(tmp_path) not in sys.path


def test_a_module_is_not_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{HEAD}from pyptx_dsl.modules import beginning\nmodule = beginning.module(version=(8, 5), target='sm_80')\n"
    path = written(tmp_path / "both.py", text)
    assert main(["export", f"{path}:module", "-o", str(tmp_path / "bundle")]) == 1
    assert "both.py:module is a module" in capsys.readouterr().err
