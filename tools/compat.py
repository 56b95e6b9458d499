"""Environments of `nox -s compat` and `nox -s lowest`, and the tests that run in them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import nox
import nox.command
import nox.virtualenv
from tools.installation import (
    ACME,
    COMPILED,
    FRAMEWORKS,
    PACKAGES,
    ROOT,
    dependencies,
    group,
    interpreter,
    newest_wheel,
    requirement_name,
    test_needs,
    toolchain,
    wheel_house,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tools.compat_rows import Row


CORE: Final = tuple(name for name in PACKAGES if name not in FRAMEWORKS)
CORE_TESTS: Final = (
    *(f"packages/pyptx-{name}/tests" for name in ("ir", "diff", "dsl", "bundles", "transpile", "sim", "launch")),
    "--every=9",
)
_TOGETHER: Final = ("torch_launches", "torch_bundles", "torch_on_host_driver", "jax_launches", "warm_and_cold")
RUNTIME_TESTS: Final = (
    *(f"packages/pyptx-{name}/tests" for name in ("launch", "torch", "jax", "virtual")),
    *(
        "tests/test_torch_described.py",
        "tests/test_torch_dispatch.py",
        "tests/end_to_end/test_one_kernel_everywhere.py",
    ),
    *(f"tests/end_to_end/test_{name}.py" for name in _TOGETHER),
    "--every=4",
)
REQUIRING: Final = tuple(  # packages that require their framework, and so state its lowest release
    name for name, framework in FRAMEWORKS.items() if framework in map(requirement_name, dependencies(name))
)
LOWEST: Final = {"core": CORE_TESTS, **{name: (f"packages/{name}/tests", "--every=4") for name in REQUIRING}}
EXTRAS: Final = {"pyptx-ir": "[pygments,rich]", "pyptx-transpile": "[progress]"}


class Environment:
    """A virtual environment made by uv, in a folder that `with` removes: torch for CUDA takes 5 GB."""

    def __init__(self, session: nox.Session, name: str, python: str) -> None:
        """Choose the folder of the virtual environment; `python` is a version, or the path of an interpreter."""
        if not nox.virtualenv.HAS_UV:
            session.error("uv is needed: pip install 'nox[uv]'")
        self._session = session
        self._home = ROOT / ".nox" / "compat" / name
        self._interpreter = interpreter(python)
        self.python = str(self._home / ("Scripts" if os.name == "nt" else "bin") / "python")

    def __enter__(self) -> Self:
        """Create the environment by uv, without packages."""
        self._uv("venv", "--clear", "--python", self._interpreter, str(self._home))
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the environment's folder."""
        shutil.rmtree(self._home, ignore_errors=True)

    def install(self, packages: Sequence[str], *requirements: str, xla: bool = True) -> None:
        """Install local packages, editable unless compiled, and requirements; `xla` builds the handlers for jax."""
        wheels = [self._wheel(name, xla=xla) for name in COMPILED if name in packages]
        editable = [word for name in packages if name not in COMPILED for word in ("-e", f"packages/{name}")]
        self._uv("pip", "install", "--python", self.python, *wheels, *editable, *requirements)

    def _wheel(self, name: str, *, xla: bool) -> str:
        house = wheel_house(self._session, self.python) if xla else self._home / "wheels"
        found = newest_wheel(house, name)
        if found is None:
            build = ("build", "--wheel", "--python", self.python, "--out-dir", str(house), f"packages/{name}")
            self._uv(*build, f"--config-setting=build-dir={self._home / 'build'}", PYPTX_XLA=str(int(xla)))
        return found or str(newest_wheel(house, name))

    def test(self, *selection: str) -> None:
        """Run pytest with the environment's programs first on PATH."""
        folders = os.pathsep.join([str(Path(self.python).parent), os.environ["PATH"]])
        variables = {"PATH": folders, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": None, "VIRTUAL_ENV": None}
        words = ("-m", "pytest", "-n", "auto", "--maxprocesses=4", "-p", "no:cacheprovider", "--hypothesis-profile=ci")
        self._session.run(self.python, *words, *selection, env=variables, external=True)

    def _uv(self, *words: str, **variables: str) -> None:
        # No installer cache: builds of torch for CUDA fill a disk. pip's `find-links` folder may contain a CPU build.
        variables |= {"UV_NO_CACHE": "1", "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", "")}
        self._session.run(nox.virtualenv.UV, *words, env=variables, external=True, silent=True)


def _needs() -> tuple[str, ...]:
    return tuple(dict.fromkeys((str(ACME), *group("test"), *test_needs(*PACKAGES), *toolchain())))


def check_row(session: nox.Session, row: Row) -> None:
    """Install the framework releases of a `Row`, and run the tests of the torch and jax runtimes."""
    with Environment(session, str(row), row.python) as environment:
        environment.install(PACKAGES, *row.frameworks, *_needs())
        environment.test(*RUNTIME_TESTS)


def check_interpreter(session: nox.Session, python: str) -> None:
    """Run the core's tests on any interpreter, then the tests of each framework that can be installed with it."""
    with Environment(session, "interpreter", python) as environment:
        environment.install(CORE, *_needs())
        environment.test(*CORE_TESTS, "-m", "not torch and not jax")
        for runtime, framework in FRAMEWORKS.items():
            try:
                environment.install((*CORE, runtime), *_needs())
            except nox.command.CommandFailed:
                session.warn(f"{framework} cannot be installed for {python}: its runtime is not tested")
                continue
            environment.test(f"packages/{runtime}/tests", "--every=4")


def check_lowest(session: nox.Session, name: str) -> None:
    """Install the lowest admissible releases, and run the tests of the core or of one framework's runtime.

    The core is built without jaxlib.
    """
    core = name == "core"
    with Environment(session, f"lowest-{name}", "3.11") as environment:
        packages = [low + EXTRAS.get(low, "") for low in CORE] if core else [*CORE, name]
        environment.install(packages, "--resolution=lowest-direct", *_needs(), xla=not core)
        environment.test(*LOWEST[name], "-m", "not torch and not jax" if core else "")


def run_each(session: nox.Session, checks: Mapping[str, Callable[[], None]]) -> None:
    """Call every check, even after a failed check; end the nox session with an error if any has failed."""
    failed: list[str] = []
    for name, check in checks.items():
        try:
            check()
        except nox.command.CommandFailed:
            failed.append(name)
    if failed:
        session.error(f"failed: {', '.join(failed)}")
