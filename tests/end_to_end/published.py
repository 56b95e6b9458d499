"""Load the examples of the wheel of pyptx 0.1.1 for tests.

The wheel is downloaded when the tests run. Only its `examples` folder is unpacked, to a folder of its own, so that
`import pyptx` in the examples imports this repository. No file of the wheel is kept in the repository.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


def forget_examples() -> None:
    """Remove the `examples` modules, of the repository or of the wheel, from `sys.modules`."""
    for name in [name for name in sys.modules if name == "examples" or name.startswith("examples.")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Download the wheel of pyptx 0.1.1 and make its `examples` folder importable as `examples`."""
    folder = tmp_path_factory.mktemp("published")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), "pyptx==0.1.1"]
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    (wheel,) = folder.glob("pyptx-0.1.1-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("pyptx/examples/")]
        archive.extractall(folder, names)
    root = folder / "pyptx"
    (root / "examples" / "__init__.py").touch()
    sys.path.insert(0, str(root))
    forget_examples()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    yield
    sys.path.remove(str(root))
    forget_examples()


def build(module: str, builder: str, shape: tuple[int, ...], **words: Any) -> Any:
    """Return the kernel that a builder of the wheel's examples returns."""
    loaded = importlib.import_module(f"examples.{module}")
    assert Path(str(loaded.__file__)).is_file()
    return getattr(loaded, builder)(*shape, **words)


def rules(result: Any) -> set[str]:
    """Return the rules of the errors and warnings of a simulator result."""
    return {finding.rule for finding in result.findings if finding.severity != "note"}
