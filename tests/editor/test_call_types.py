"""Types that a kernel call returns for the arrays of each framework: pyright with the framework's own types."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .language_server import LanguageServer

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SERVER = Path(sysconfig.get_path("scripts")) / "pyright-langserver"
SOURCE = """\
from typing import assert_type

from pyptx import Tile, kernel
from pyptx.types import f32
{imports}


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32),))
def one(X: object, Y: object) -> None: ...


@kernel(in_specs=(Tile("N", f32),), out_specs=(Tile("N", f32), Tile("N", f32)))
def two(X: object, Y: object, Z: object) -> None: ...


def use({parameters}) -> None:
    # Assigned, not asserted: the stubs of NumPy 2.5 tell the element type of x, those before none.
    first: {array} = one(x)
    second: {array} = one(x, y, N=4)
    several: tuple[{array}, ...] = two(y, x)
    assert_type(one(x, out=x), {given})
    outputs: tuple[{array}, ...] = one.simulate(y).outputs
    print(first, second, several, outputs)
    one(x).sum()
"""
FRAMEWORKS = [
    pytest.param(
        "from typing import Any\n\nimport numpy as np\nfrom numpy.typing import NDArray",
        "x: NDArray[np.float32], y: NDArray[np.uint8]",
        "NDArray[Any]",
        "NDArray[np.float32]",
        id="numpy",
    ),
    pytest.param(
        "from torch import Tensor\nfrom torch.nn import Parameter",
        "x: Tensor, y: Parameter",
        "Tensor",
        "Tensor",
        id="torch",
        marks=pytest.mark.torch,
    ),
    pytest.param("from jax import Array", "x: Array, y: Array", "Array", "Array", id="jax", marks=pytest.mark.jax),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LanguageServer, Path]]:
    """Yield a server and the folder of a strict project that sees the packages installed for the tests."""
    folder = tmp_path_factory.mktemp("project")
    prefix = Path(sys.prefix)
    options = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(path) for path in sorted(ROOT.glob("packages/*/src"))],
        "venvPath": str(prefix.parent),
        "venv": prefix.name,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
    with LanguageServer([sys.executable, str(SERVER), "--stdio"], folder) as running:
        yield running, folder


@pytest.mark.parametrize(("imports", "parameters", "array", "given"), FRAMEWORKS)
@pytest.mark.long
def test_a_call_returns_an_array_of_its_arguments_framework(
    project: tuple[LanguageServer, Path], imports: str, parameters: str, array: str, given: str
) -> None:
    server, folder = project
    user = folder / f"user_of_{array.partition('[')[0].lower()}s.py"
    user.write_text(SOURCE.format(imports=imports, parameters=parameters, array=array, given=given), encoding="utf-8")
    server.open(user)
    assert [each["message"] for each in server.diagnostics(user)] == []
