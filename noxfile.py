"""All commands of this repository: each is a nox session, and `nox -l` lists them.

Sessions install their requirements. With uv on the machine (`pip install "nox[uv]"`) they install in seconds; otherwise
nox uses virtualenv and pip. `tools/installation.py` defines the installation steps.
"""

from __future__ import annotations

import os
import shutil
import sys
from functools import partial
from pathlib import Path

import nox
import nox.command

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))  # the command `nox`, unlike `python -m nox`, does not search this folder

from tools.compat import LOWEST, check_interpreter, check_lowest, check_row, run_each  # noqa: E402 - see above
from tools.compat_rows import ROWS  # noqa: E402 - see above
from tools.installation import (  # noqa: E402 - see above
    COMPILED,
    FRAMEWORKS,
    PACKAGES,
    TOOL_WHEELS,
    build_wheels,
    closure,
    dependencies,
    environment,
    group,
    install,
    install_checkout,
    install_for_tests,
    install_frameworks,
    interpreter,
    requirement_name,
    temporary,
    test_companions,
    test_needs,
    toolchain,
    unbuilt,
)

# If this variable is set, every process that a test starts compiles all of its imports: seconds for jax.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
nox.needs_version = ">=2026.2"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True
nox.options.sessions = ["lint", "types", "arrows", "tests"]

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # per worker: NumPy threads of several processes slow each other down
PARALLEL = ("-n", "auto", "--maxprocesses=4")
SHARE = ("--quick", "--hypothesis-profile=ci")
WITHOUT_FRAMEWORKS = (  # tests that neither need nor import a framework
    *("-m", "not torch and not jax", "--ignore-glob=*/test_torch_*.py"),
    *(f"--ignore=packages/{name}" for name in FRAMEWORKS),
)
QUICK = (  # tests that import every package, for `nox -s hatch`
    *("--every=4", "-m", "not ptxas and not gpu", "packages/pyptx/tests", "packages/pyptx-dsl/tests/test_kernel.py"),
    *("packages/pyptx-ir/tests/test_plugins_manager.py", "packages/pyptx-transpile/tests/test_mangled.py"),
    *map(str, sorted(ROOT.glob("packages/*/tests/test_calls.py"))),
    "packages/pyptx-launch/tests/test_plans.py",
)
GATED = {"pyptx_ir": 90, "pyptx_dsl": 90, "pyptx_sim": 95}  # minimum coverage, percent of lines
ORACLES = ("nvidia-cuda-nvcc>=13.5", "nvidia-cuda-nvcc==13.0.*")  # releases for `nox -s oracle`
RESOURCES_OF = "nvidia-cuda-nvcc==13.0.*"  # release used in docs/kernel-resources.md
WHOLE_NVCC = (  # the whole compiler and headers, of the same release: for CUTLASS in `nox -s evidence`
    RESOURCES_OF, "nvidia-nvvm==13.0.*", *(f"nvidia-cuda-{part}==13.0.*" for part in ("crt", "runtime", "cccl")),
)  # fmt: skip
SURVEYS = "tests/mutations/test_kernel_survivors.py"  # mutants of all example kernels: an hour by themselves
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g", "-O1")
SANITIZED = (  # tests that use the native extension, without memory measurements, which would measure the sanitizers
    "packages/pyptx-launch/tests", "packages/pyptx-jax/tests", "tests/end_to_end/test_torch_launches.py",
    "tests/end_to_end/test_warm_and_cold.py", "--ignore=packages/pyptx-launch/tests/test_leaks.py",
    "-k=not do_not_grow",
)  # fmt: skip
TORCH_OF_PROGRAMS = "torch==2.13.0"  # for `nox -s virtual`
PYTEST = ("pytest>=9", "pytest-xdist>=3.8")  # for `nox -s virtual`
OLDER = "pyptx==0.1.1"  # baseline of benchmarks: an unrelated project, in an environment of its own


def resumable(session: str) -> tuple[str, ...]:
    """Return the options of pytest by which an interrupted session continues where it ended."""
    return "-p", "tools.resume", f"--resume={ROOT / '.nox' / f'{session}.json'}"


# Checks ---------------------------------------------------------------------------------------------------------------


@nox.session
def tests(session: nox.Session) -> None:
    """Run a share of the tests that need no GPU, and enforce the coverage gates. `nox -s kernels` runs all of them.

    Arguments after `--` go to pytest instead.
    """
    install_for_tests(session, frameworks=True)
    if session.posargs:
        session.run("pytest", *session.posargs)
        return
    session.run("pytest", *PARALLEL, *SHARE, "--cov", "--cov-report=", env=ONE_THREAD)
    for package, floor in GATED.items():
        session.run("coverage", "report", f"--include=*/{package}/*", f"--fail-under={floor}", "--skip-covered")


@nox.session
def which(session: nox.Session) -> None:
    """Print the tests that execute modules: `nox -s which -- pyptx_ir.banks`.

    The first run executes the tests of `nox -s tests` for an index of coverage by test; so does `-- --refresh MODULE`.
    """
    index, asked = ROOT / ".nox" / "which.coverage", [word for word in session.posargs if word != "--refresh"]
    if not index.exists() or asked != session.posargs:
        install_for_tests(session, frameworks=True)
        measured = (f"--cov={path.name}" for path in ROOT.glob("packages/*/src/*") if (path / "__init__.py").exists())
        options = ("--cov-context=test", "--cov-report=", *measured)
        settings = ONE_THREAD | {"COVERAGE_FILE": str(index)}
        session.run("pytest", *PARALLEL, *SHARE, *options, env=settings, success_codes=[0, 1])
    session.run("python", "-m", "tools.which_tests", str(index), *asked)


@nox.session(name="tests-3.12", python=interpreter("3.12"))
def tests_312(session: nox.Session) -> None:
    """Run the tests on Python 3.12, without tests of torch and jax."""
    install_for_tests(session)
    session.run("pytest", *PARALLEL, *SHARE, *WITHOUT_FRAMEWORKS, *session.posargs, env=ONE_THREAD)


@nox.session(name="tests-3.13", python=interpreter("3.13"))
def tests_313(session: nox.Session) -> None:
    """Run the tests on Python 3.13, without tests of torch and jax."""
    install_for_tests(session)
    session.run("pytest", *PARALLEL, *SHARE, *WITHOUT_FRAMEWORKS, *session.posargs, env=ONE_THREAD)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style: all ruff rules except those listed with reasons in pyproject.toml, and formatting."""
    session.install(*group("lint"))
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    """Check the types of all shipped code, and of tests/typing, with mypy and pyright, both strict."""
    install(session, *group("types"), *test_needs(*PACKAGES), frameworks=True)
    session.run("mypy")
    session.run("pyright")


@nox.session
def arrows(session: nox.Session) -> None:
    """Check the import graph against the import-linter contracts in pyproject.toml and importlinter-sim.toml."""
    install(session, *group("arrows"))
    session.run("lint-imports", env={"PYTHONPATH": unbuilt()})
    session.run("lint-imports", "--config", "importlinter-sim.toml")


@nox.session
def hatch(session: nox.Session) -> None:
    """Create the environment of `hatch shell`, with the torch of `tests`, and run a share of the tests in it."""
    session.install(*group("build"))
    # hatch creates an environment inside the session's; without these variables it would use the session's.
    own = {"VIRTUAL_ENV": None, "UV_PYTHON": None, "HATCH_DATA_DIR": str(session.env_dir.resolve() / "hatch")}
    session.run("hatch", "run", "pytest", *(session.posargs or QUICK), env=own)


@nox.session(reuse_venv=False)
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def alone(session: nox.Session, package: str) -> None:
    """Install one package from its wheel with its declared requirements only, and run its tests outside the checkout.

    By default every eighth case of each test that is not long; `-- --every=1` runs all cases and tests.
    """
    if package in FRAMEWORKS:
        install_frameworks(session, FRAMEWORKS[package])
    beside = dict.fromkeys(low for name in (package, *test_companions(package)) for low in closure(name))
    session.install(*build_wheels(session, *beside), *test_needs(package), *toolchain())
    strangers = [name.replace("-", "_") for name in PACKAGES if name not in beside]
    session.run("python", "tools/check_alone.py", package.replace("-", "_"), *strangers)
    away = temporary(session, "away")
    shutil.copytree(ROOT / "packages" / package / "tests", away / "tests")
    options = ("-c", str(ROOT / "pyproject.toml"), "--rootdir", str(away), "-p", "no:cacheprovider")
    foreign = sorted({*FRAMEWORKS.values()} - {FRAMEWORKS.get(package)})
    long = () if session.posargs else ("long",)
    absent = " and ".join(f"not {name}" for name in ("hopper", "blackwell", "gpu", *long, *foreign))
    selection = ("-m", absent, str(away / "tests"))
    session.run("pytest", *options, "--hypothesis-profile=ci", *(session.posargs or ("--every=8",)), *selection)


@nox.session(reuse_venv=False)
def build(session: nox.Session) -> None:
    """Build every sdist and wheel with hatch, check them, install them from a wheelhouse alone, and run kernels.

    Then install the checkout: every extra, with pip and with uv, from its folder and from its last commit.
    """
    house = ROOT / "dist"
    shutil.rmtree(house, ignore_errors=True)
    session.install("pip", *group("build"))
    # hatch creates an environment for the build; without these variables it would use the session's.
    own_environment = {"VIRTUAL_ENV": None, "UV_PYTHON": None, "HATCH_DATA_DIR": str(temporary(session, "hatch"))}
    for name in PACKAGES:
        with session.chdir(ROOT / "packages" / name):
            session.run("hatch", "build", str(house), env=own_environment, silent=True)
    session.run("twine", "check", "--strict", *map(str, house.iterdir()))
    session.run("python", "tools/check_distributions.py", str(house))
    for wheel in (path for name in COMPILED for path in house.glob(f"{name.replace('-', '_')}-*.whl")):
        session.run("auditwheel", "show", str(wheel))
    at_hand = {*PACKAGES, *FRAMEWORKS.values()}
    foreign = [need for name in PACKAGES for need in dependencies(name) if requirement_name(need) not in at_hand]
    session.run("python", "-m", "pip", "download", "--quiet", "--dest", str(house), *foreign, silent=True)
    python = environment(session, "fresh")
    wheelhouse_only = ("--no-index", "--find-links", str(house))
    everything = "pyptx[hopper,blackwell,sim,torch,jax]"
    session.run(python, "-m", "pip", "install", "--quiet", *group("torch", "jax"), external=True)
    session.run(python, "-m", "pip", "install", "--quiet", *wheelhouse_only, everything, external=True)
    session.run(python, "-m", "pip", "check", external=True)
    session.run(python, "tools/check_alone.py", "pyptx", external=True)
    session.run(python, "-m", "pyptx", "doctor", external=True)
    session.run(python, "examples/ampere/vector_add.py", env={"PYPTX_CPU": "quiet"}, external=True)
    install_checkout(session, python)


@nox.session(venv_backend="none")
def compat(session: nox.Session) -> None:
    """Test the runtimes on each row of tools/compat_rows.py, or on the named ones; a row needs up to 6 GB temporarily.

    `-- --python 3.14t` tests another interpreter instead: the core, and the frameworks that can be installed there.
    """
    if session.posargs[:1] == ["--python"]:
        check_interpreter(session, *session.posargs[1:])
        return
    rows = {str(row): row for row in ROWS}
    if unknown := set(session.posargs) - rows.keys():
        session.error(f"unknown rows {sorted(unknown)}, expected --python or some of {', '.join(rows)}")
    run_each(session, {name: partial(check_row, session, rows[name]) for name in session.posargs or rows})


@nox.session(venv_backend="none")
def lowest(session: nox.Session) -> None:
    """Test the core, and each framework's runtime, with the lowest releases that the packages accept."""
    run_each(session, {name: partial(check_lowest, session, name) for name in session.posargs or LOWEST})


@nox.session
def fuzz(session: nox.Session) -> None:
    """Fuzz the parser (100,000 texts) and the simulator (11,000 programs, 2,000 pairs with a data race): an hour.

    Then run the property tests with fifty times the examples. A failing program is printed with its seed, and shrunk.
    """
    install_for_tests(session, frameworks=True)
    # Half of the texts are mutants of the corpus, half are drawn by hypothesis.
    session.run("pytest", *PARALLEL, "tests/fuzz", env={"PYPTX_FUZZ": "50000"})
    processes = f"-j{os.cpu_count() or 1}"
    for programs in (("--count=10000",), ("--count=1000", "--undefined")):
        session.run("python", "-m", "tests.fuzz.threads", "0", *programs, processes, env=ONE_THREAD)
    races = [f"packages/pyptx-sim/tests/litmus/test_{name}.py" for name in ("racy_twins", "counters")]
    races.append("packages/pyptx-sim/tests/test_random_selections.py")
    session.run("pytest", *PARALLEL, *races, env=ONE_THREAD | {"PYPTX_FUZZ": "2000"})
    session.run(
        *("pytest", *PARALLEL, "--hypothesis-profile=long", "-m", "hypothesis", "--ignore=tests/fuzz"), *session.posargs
    )


@nox.session
def sanitize(session: nox.Session) -> None:
    """Build the native extension and the null driver with sanitizers, and run launches: alone, from torch, from jax."""
    install_for_tests(session, frameworks=True)
    wheels, flags = temporary(session, "wheels"), " ".join(SANITIZERS)
    options = (f"build-dir={temporary(session, 'build')}", "install.strip=false", "cmake.build-type=RelWithDebInfo")
    session.install("build>=1.2")
    session.run(
        *("python", "-m", "build", "--wheel", "--outdir", str(wheels), *(f"-C{option}" for option in options)),
        str(ROOT / "packages" / "pyptx-launch"),
        env={"CXXFLAGS": flags, "LDFLAGS": flags, "CXX": "g++"},
        silent=True,
    )
    session.install("--force-reinstall", "--no-deps", *map(str, wheels.glob("*.whl")))
    # Python itself is built without sanitizers, so their runtime is preloaded. Leak checks are off: Python's own
    # objects would be reported.
    names = ("libasan.so", "libubsan.so", "libstdc++.so")
    found = (session.run("g++", f"-print-file-name={name}", external=True, silent=True) for name in names)
    settings = {
        "LD_PRELOAD": " ".join(str(path).strip() for path in found),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "NULL_DRIVER_CFLAGS": flags,
        "CC": "gcc",
    }
    session.run("pytest", "--capture=sys", "-p", "no:cacheprovider", *SANITIZED, *session.posargs, env=settings)


@nox.session
def oracle(session: nox.Session) -> None:
    """Verify the instruction table against two releases of ptxas, the newest and the oldest supported one."""
    install(session, "pip", *group("test"))
    found: list[str] = []
    for number, release in enumerate(ORACLES):
        folder = temporary(session, f"ptxas-{number}")
        session.run(
            "python", "-m", "pip", "install", "--quiet", "--no-deps", f"--target={folder}", release, silent=True
        )
        found += map(str, folder.glob("nvidia/*/bin/ptxas"))
    session.run("python", "-m", "tests.oracle", "--ptxas", *found, *session.posargs)
    session.run("python", "-m", "tests.oracle.mutants", "--ptxas", *found)
    session.run("python", "-m", "tests.oracle.generated", "--ptxas", *found)
    session.run("pytest", "-q", "tests/oracle", env={"PYPTX_ORACLE": "all"})


@nox.session
def kernels(session: nox.Session) -> None:
    """Run all cases of all tests, except `mutants`; verify the examples' costs against ptxas.

    An interrupted run continues: see `tools/resume.py`.
    """
    install_for_tests(session, frameworks=True)
    folder = temporary(session, "ptxas")
    wanted = (f"--target={folder}", "--no-deps", RESOURCES_OF)
    session.run("python", "-m", "pip", "install", "--quiet", *wanted, silent=True)
    (ptxas,) = folder.glob("nvidia/*/bin/ptxas")
    path = os.pathsep.join([str(ptxas.parent), *(session.bin_paths or ()), os.environ["PATH"]])
    session.run("python", "-m", "tools.kernel_resources", "--verify", env={"PATH": path})
    everything = ONE_THREAD | {"PATH": path, "PYPTX_KERNELS": "all"}
    session.run(
        *("pytest", *PARALLEL, *resumable("kernels"), f"--ignore={SURVEYS}", *session.posargs),
        env=everything,
    )


@nox.session
def mutants(session: nox.Session) -> None:
    """Inject faults into every example kernel; each must be found, or be in the list of survivors.

    An interrupted run continues: see `tools/resume.py`.
    """
    install_for_tests(session, frameworks=False)
    everything = ONE_THREAD | {"PYPTX_KERNELS": "all"}
    session.run("pytest", *PARALLEL, *resumable("mutants"), SURVEYS, *session.posargs, env=everything)


@nox.session
def cuda(session: nox.Session) -> None:
    """Compile CUDA C++ with nvcc from PATH, and run it on the simulator: linked units, cooperative grids, textures."""
    install_for_tests(session, frameworks=False)
    session.run("pytest", *PARALLEL, "--cuda", "tests/cuda", *session.posargs)


@nox.session
def wild(session: nox.Session) -> None:
    """Download published wheels that contain PTX; parse, emit, rebuild and check it, and compare errors with ptxas."""
    newest = f"{TOOL_WHEELS['ptxas']}>=13.0"  # wheels may contain newer PTX than the ptxas on PATH reads
    install(session, "pip", *group("wild"), "cuda-pathfinder>=1.2", newest)
    session.run("python", "-m", "tests.wild", *session.posargs)


@nox.session
def foreign(session: nox.Session) -> None:
    """Compile kernels of Triton, CUDA C++, CuTe DSL and others without a GPU; run them under several schedules."""
    install(session, "pip", "numpy>=1.26", "ml-dtypes>=0.5")
    session.run("python", "-m", "tests.foreign", *session.posargs)


@nox.session
def virtual(session: nox.Session) -> None:
    """Run Triton programs on the virtual GPU: ours, with four releases of Triton; faults; packages' kernels."""
    install(session, "pip", "setuptools", "ml-dtypes>=0.5", *PYTEST, "-e", "packages/pyptx-virtual")
    session.run("python", "-m", "pip", "install", "--quiet", TORCH_OF_PROGRAMS, silent=True)
    session.run("python", "-m", "tests.virtual", *session.posargs, env=ONE_THREAD)


@nox.session
def evidence(session: nox.Session) -> None:
    """Compare our machine code for Blackwell with that of CUTLASS, Triton, CuTe DSL; installs the compilers first."""
    install(session, "pip", "numpy>=1.26", "ml-dtypes>=0.5", *group("jax", "loops"), *toolchain())
    folder = temporary(session, "nvcc")
    wanted = (f"--target={folder}", "--no-deps", *WHOLE_NVCC)
    session.run("python", "-m", "pip", "install", "--quiet", *wanted, silent=True)
    (nvcc,) = folder.glob("nvidia/*/bin/nvcc")
    path = os.pathsep.join([str(nvcc.parent), *(session.bin_paths or ()), os.environ["PATH"]])
    kernels_of_others = str(temporary(session, "kernels"))
    session.run("python", "-m", "tests.foreign.flagships", kernels_of_others, *session.posargs, env={"PATH": path})
    session.run("python", "-m", "tools.static_evidence", "--foreign", kernels_of_others, env={"PATH": path})


# Generated files and measurements -----------------------------------------------------------------------------------


@nox.session
def demo(session: nox.Session) -> None:
    """Run rms_norm on real data on the simulator; print its error, time, registers and findings."""
    install(session, "numpy>=1.26", "ml-dtypes>=0.5", *toolchain())
    session.run("python", "tools/demo.py", *session.posargs)


@nox.session
def generate(session: nox.Session) -> None:
    """Write generated files: the stubs of ptx.inst, the reference pages, and the stub of the native extension."""
    install(session, *group("shim"), compiled=True)
    session.run("python", "-m", "tools.generate_isa", *session.posargs)
    session.run("python", "-m", "tools.generate_shim_stub", *session.posargs)


@nox.session
def golden(session: nox.Session) -> None:
    """Rewrite the golden files, messages of `pyptx check`; review them as a diff."""
    install_for_tests(session)
    session.run("pytest", "packages/pyptx-ir/tests/test_isa_modules_golden.py", "--regenerate-golden", "-q")


@nox.session
def corpus(session: nox.Session) -> None:
    """Compile corpus/sources again, compare with the manifest, and run ptxas; installs compilers in wheels first.

    The environments take 6 GB, and are kept; `-- --only triton-3.9` creates those of one producer.
    """
    environments = str(ROOT / ".nox" / "corpus-environments")
    session.run("python", "corpus/build.py", "--environments", environments, *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Run every `benchmarks/bench_*.py`: each measures a value and its baseline in the same run."""
    install(session, *group("bench"), *toolchain())
    python = environment(session, "older")
    session.run(python, "-m", "pip", "install", "--quiet", "--no-deps", OLDER, external=True)
    missed: list[str] = []
    for script in session.posargs or sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("benchmarks/bench_*.py")):
        try:
            session.run("python", script, env={"PYPTX_OLDER_PYTHON": python})
        except nox.command.CommandFailed:  # run the other benchmarks nevertheless
            missed.append(script)
    if missed:
        session.error(f"targets missed in {', '.join(missed)}")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site into site/, in strict mode, and check its links; `nox -s docs -- serve` previews it."""
    install(session, *group("docs"))
    pages = {"PYTHONPATH": unbuilt()}
    if session.posargs == ["serve"]:
        session.run("zensical", "serve", env=pages)
        return
    session.run("zensical", "build", "--clean", "--strict", env=pages)
    session.run("python", "-m", "tools.check_site")


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """Run tests/gpu and the benchmarks on this machine's GPU, with the installed Python and frameworks."""
    session.run("bash", "tools/gpu_check.sh", *session.posargs, external=True)


@nox.session(python=interpreter("3.12"))
def gpu_rehearsal(session: nox.Session) -> None:
    """Run tools/gpu_check.sh without a GPU or a network: on the host driver, with the packages of a GPU machine."""
    session.install(*group("rehearsal"), *toolchain())
    session.run("python", "tools/gpu_rehearsal.py", *session.posargs)
