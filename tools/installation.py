"""Installation steps of nox sessions: the local packages, the frameworks, and the wheels of CUDA's tools.

The local packages are always installed together, as paths into this checkout: an unrelated project named `pyptx` is on
the public index, and must not be installed by accident.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (  # packages of this repository, each after its dependencies
    "pyptx-ir",
    "pyptx-diff",
    "pyptx-dsl",
    "pyptx-bundles",
    "pyptx-transpile",
    "pyptx-arch-hopper",
    "pyptx-arch-blackwell",
    "pyptx-sim",
    "pyptx-launch",
    "pyptx-torch",
    "pyptx-jax",
    "pyptx-virtual",
    "pyptx",
)
COMPILED = ("pyptx-launch",)  # packages installed from wheels, which nox sessions of one Python version share
FRAMEWORKS = {  # package: group that installs the framework of its tests
    "pyptx-torch": "torch",
    "pyptx-jax": "jax",
    "pyptx-virtual": "torch",
}
ACME = ROOT / "tests" / "plugin_contract" / "acme_arch"  # plugin of the contract tests, written as by a third party
BACKENDS = ("hatchling>=1.27", "scikit-build-core>=0.11")
TOOL_WHEELS = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm", "cuobjdump": "nvidia-cuda-cuobjdump"}


def package_table(package: str) -> dict[str, Any]:
    """Return the parsed pyproject.toml of a package."""
    return tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text(encoding="utf-8"))


def dependencies(package: str) -> list[str]:
    """Return the requirements that a distribution declares."""
    return [str(requirement) for requirement in package_table(package)["project"]["dependencies"]]


def requirement_name(requirement: str) -> str:
    """Return the bare name of a requirement: `pyptx-ir` of `pyptx-ir[toolchain]>=0.2.0,<0.3`."""
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]


def closure(package: str) -> tuple[str, ...]:
    """Return the local packages that `package` depends on, dependencies first, and `package` last."""
    needed = [name for name in map(requirement_name, dependencies(package)) if name in PACKAGES]
    return tuple(dict.fromkeys([*(low for name in needed for low in closure(name)), package]))


def group(*names: str) -> list[str]:
    """Return the requirements of dependency groups in the root pyproject.toml."""
    return list(nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), *names))


def test_needs(*packages: str) -> list[str]:
    """Return the third-party requirements of the packages' own tests."""
    return [need for name in packages for need in test_group(name) if requirement_name(need) not in PACKAGES]


def test_companions(package: str) -> tuple[str, ...]:
    """Return the other local packages that a package's own tests need."""
    return tuple(name for name in map(requirement_name, test_group(package)) if name in PACKAGES)


def test_group(package: str) -> tuple[str, ...]:
    """Return a package's dependency group `test`."""
    return nox.project.dependency_groups(package_table(package), "test")


def toolchain() -> list[str]:
    """Return the requirements of pyptx-ir's extra `toolchain`, without wheels of CUDA tools that are on PATH."""
    at_hand = {wheel for tool, wheel in TOOL_WHEELS.items() if shutil.which(tool)}
    wheels = package_table("pyptx-ir")["project"]["optional-dependencies"]["toolchain"]
    return [wheel for wheel in wheels if requirement_name(wheel) not in at_hand]


def install(session: nox.Session, *requirements: str, frameworks: bool = False, compiled: bool = False) -> None:
    """Install the local packages (editable) and further requirements, in one installer call.

    The packages of FRAMEWORKS, torch and jax are installed only with `frameworks`; the compiled package also with
    `compiled`.
    """
    left_out = () if frameworks else tuple(FRAMEWORKS)
    pure = [name for name in PACKAGES if name not in (*COMPILED, *left_out)]
    if frameworks:
        install_frameworks(session)
    wheels = [compiled_wheel(session, name) for name in COMPILED] if compiled or frameworks else []
    session.install(*wheels, *(word for name in pure for word in ("-e", f"packages/{name}")), *requirements)


def install_frameworks(session: nox.Session, *names: str) -> None:
    """Install torch and jax (or those named), for the CPU.

    torch comes through pip, whose configuration may name a CPU build on disk; uv does not read it.
    """
    wanted = names or tuple(dict.fromkeys(FRAMEWORKS.values()))
    session.install("pip", *(group("jax") if "jax" in wanted else ()))
    if "torch" in wanted:
        session.run("python", "-m", "pip", "install", "--quiet", *group("torch"), silent=True)


def install_for_tests(session: nox.Session, *, frameworks: bool = False) -> None:
    """Install the packages, the third-party plugin of the contract tests, and the requirements of the tests."""
    plugin = [str(ACME)] if ACME.is_dir() else []
    needs = (*plugin, *group("test", "editor", "shim"), *test_needs(*PACKAGES), *toolchain())
    install(session, *needs, frameworks=frameworks, compiled=True)


def build_wheels(session: nox.Session, *packages: str) -> list[str]:
    """Build the packages' wheels into the session's temporary folder and return their paths."""
    house = temporary(session, "wheels")
    session.install(BACKENDS[0])
    for name in packages:
        if name in COMPILED:
            continue
        with session.chdir(ROOT / "packages" / name):
            session.run("python", "-m", "hatchling", "build", "-t", "wheel", "-d", str(house), silent=True)
    compiled = [compiled_wheel(session, name) for name in packages if name in COMPILED]
    return [*compiled, *(str(path) for path in sorted(house.glob("*.whl")))]


def compiled_wheel(session: nox.Session, package: str) -> str:
    """Return the wheel of a compiled package for the session's Python; rebuild it only if a source has changed.

    Concurrent sessions wait for the session that builds: they would share its build folder.
    """
    import fcntl  # fcntl does not exist on Windows, nor does the compiled package

    house = wheel_house(session, "python")
    house.mkdir(parents=True, exist_ok=True)
    with (house / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if newest_wheel(house, package) is None:
            session.install("build>=1.2")
            fresh, source = temporary(session, "compiled"), str(ROOT / "packages" / package)
            session.run("python", "-m", "build", "--wheel", "--outdir", str(fresh), source, silent=True)
            for built in fresh.glob("*.whl"):
                built.replace(house / built.name)
    return str(newest_wheel(house, package))


def wheel_house(session: nox.Session, python: str) -> Path:
    """Return the folder of compiled wheels that every session shares for an interpreter."""
    asked = "import sys; print(sys.implementation.cache_tag + sys.abiflags)"
    return ROOT / ".nox" / "wheels" / str(session.run(python, "-c", asked, silent=True, external=True)).strip()


def newest_wheel(house: Path, package: str) -> str | None:
    """Return the latest wheel of a compiled package in `house`; None if a source has changed since it was built."""
    folder = ROOT / "packages" / package
    sources = (*folder.glob("src/**/*"), folder / "pyproject.toml", folder / "CMakeLists.txt")
    changed = max(path.stat().st_mtime for path in sources if path.is_file() and "__pycache__" not in path.parts)
    built = {path.stat().st_mtime: str(path) for path in house.glob(f"{package.replace('-', '_')}-*.whl")}
    return built[max(built)] if built and max(built) >= changed else None


def install_checkout(session: nox.Session, python: str) -> None:
    """Install the root package from its folder with pip, and from its last commit with uv; resolve all extras of both.

    `python` belongs to an environment with torch and jax; the build backends of the packages are installed there.
    """
    extras = tuple(package_table("pyptx")["project"]["optional-dependencies"])
    folder, repository = f"{ROOT}[{{}}]", f"pyptx-checkout[{{}}] @ git+{ROOT.as_uri()}"
    by_pip, by_uv = environment(session, "by-pip"), environment(session, "by-uv")
    session.run(by_pip, "-m", "pip", "install", "--quiet", folder.format("sim"), external=True)
    session.run(by_pip, "tools/check_current.py", external=True)
    session.run("uv", "pip", "install", "--quiet", "--python", by_uv, repository.format("sim"))
    for each in (by_pip, by_uv):
        session.run(each, "-m", "pip", "check", external=True)
        session.run(each, "-m", "pyptx", "doctor", external=True)
    wanted, pins = temporary(session, "wanted.txt"), temporary(session, "pins.txt")
    pins.write_text("\n".join(group("torch", "jax")), encoding="utf-8")
    for requirement in (form.format(extra) for extra in extras for form in (folder, repository)):
        wanted.write_text(requirement, encoding="utf-8")
        session.run("uv", "pip", "compile", "--python", python, "--constraint", str(pins), str(wanted), silent=True)
    session.run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip", *BACKENDS, external=True)
    dry = ("--quiet", "--dry-run", "--no-build-isolation", "--constraint", str(pins))
    for requirement in (*map(folder.format, extras), repository.format(",".join(extras))):
        session.run(python, "-m", "pip", "install", *dry, requirement, external=True)


def environment(session: nox.Session, name: str) -> str:
    """Return the Python of a new environment in the session's folder."""
    folder = temporary(session, name)
    session.run("python", "-m", "venv", str(folder))
    return str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")


def unbuilt() -> str:
    """Return a PYTHONPATH with the uninstalled sources of compiled packages and framework runtimes."""
    return os.pathsep.join(str(ROOT / "packages" / name / "src") for name in (*COMPILED, *FRAMEWORKS))


def temporary(session: nox.Session, name: str) -> Path:
    """Return an unused path in the session's folder.

    `session.create_tmp` would also set TMPDIR to a folder of the checkout. A pytest that a test starts in a temporary
    folder would then read this repository's configuration and load its conftest.py.
    """
    path = session.env_dir.resolve() / "tmp" / name
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def interpreter(version: str) -> str:
    """Return pyenv's Python of that version if there is one (its shims resolve the active version only)."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(pyenv.glob(f"versions/{version}.*/bin/python"))
    return str(found[-1]) if found else version
