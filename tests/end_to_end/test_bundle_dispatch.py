"""Bundles from C, launched by size and by DLPack tensor: exported specializations run, all other calls get an error."""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyptx
from pyptx.bundles import export
from pyptx_dsl.errors import ContractError, KeywordError
from pyptx_ir.element_types import BY_ARRAY, BY_NAME, ELEMENT_TYPES, takes
from pyptx_ir.plugins.rows import Argument

from . import bundle_kernels
from .bundle_programs import SANITIZERS, Seen, build, compile_shared, run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

pytestmark = pytest.mark.ptxas

CALLS = Path(__file__).with_name("bundle_calls.c")
CHOICES: tuple[Mapping[str, object], ...] = (
    {"M": 4, "K": 8},
    {"M": 4, "K": 8, "scheme": "exact"},
    {"M": 16, "K": 8},
    {"M": 1, "K": 32, "scheme": '"?\\??/\u00e9'},
)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A DLTensor; DLPack's device type 2 is CUDA."""

    data: int
    dtype: tuple[int, int, int]
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None = None
    device: tuple[int, int] = (2, 0)
    offset: int = 0
    ndim: int | None = None

    def __str__(self) -> str:
        rank = len(self.shape or ()) if self.ndim is None else self.ndim
        numbers = (self.data, *self.device, rank, *self.dtype, self.offset)
        lists = ("-" if not each else ":".join(map(str, each)) for each in (self.shape, self.strides))
        return ",".join([*map(str, numbers), *lists])


F32, F64, BF16, U8 = (2, 32, 1), (2, 64, 1), (4, 16, 1), (1, 8, 1)
SCALARS = f"0.1 -3 {2**64 - 1}"
NAMES = ("A", "new", "flags", "Y", "norms")


def arrays(m: int = 4, k: int = 8) -> dict[str, Tensor]:
    """Return the arrays of a valid call of `blend`; `new` is column-major."""
    return {
        "A": Tensor(0x10000, F32, (m, k)),
        "new": Tensor(0x20000, BF16, (k, m), (1, k)),
        "flags": Tensor(0x30000, U8, (3, m)),
        "Y": Tensor(0x40000, F32, (m, k), (k, 1)),
        "norms": Tensor(0x50000, F64, (m,)),
    }


def call(
    changed: Mapping[str, Tensor | None], scheme: str = "fast", scalars: str = "0.1 -3 18446744073709551615"
) -> str:
    """Return the line of input that makes the program call `blend` by DLPack."""
    tensors = {**arrays(), **changed}
    return f"tensors {scheme} {scalars} " + " ".join(str(tensors[name] or "null") for name in NAMES)


@pytest.fixture(scope="module", params=[(), SANITIZERS], ids=["plain", "sanitized"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the compiled C program that reads calls of `blend` from its input."""
    folder = export(bundle_kernels.blend, CHOICES, tmp_path_factory.mktemp("calls") / "blend")
    return build(folder, CALLS.read_text(encoding="utf-8"), "blend", *request.param)


def told(program: Path, lines: Sequence[str], *, context: int = 0) -> tuple[list[str], Seen]:
    """Run the program in a device's context on input `lines`; return its output for each line, and the driver calls."""
    seen = run(program, lines=[f"context {context}", "load", *lines, "unload"])
    assert (seen.steps["1"], seen.steps[str(len(lines) + 2)]) == ("0 success",) * 2
    return [seen.steps[str(number + 2)] for number in range(len(lines))], seen


# --- by size ----------------------------------------------------------------------------------------


def test_a_launch_by_size_takes_what_was_compiled_for_these_sizes_and_nothing_else(program: Path) -> None:
    sizes = [-(2**63), -1, 0, 1, 4, 5, 8, 16, 32, 2**32 + 4, 2**63 - 1]
    asked = [(m, k, scheme) for m in sizes for k in sizes for scheme in ("fast", "exact", "fas", "-")]
    said, seen = told(program, [f"sizes {m} {k} {scheme}" for m, k, scheme in asked])
    there = {(4, 8, "fast"): [4, 8, 1], (4, 8, "exact"): [4, 8, 2], (16, 8, "fast"): [16, 8, 1]}
    grids = [there[each] for each in asked if each in there]
    launches = seen.all("cuLaunchKernelEx")
    assert [launch["grid"] for launch in launches] == grids
    for each, words in zip(asked, said, strict=True):
        assert words.startswith(
            "0 success" if each in there else "-5 blend was not compiled for these sizes; available: (M=4"
        )


def test_a_launch_by_size_passes_addresses_and_scalars_as_they_are(program: Path) -> None:
    _, seen = told(program, ["sizes 16 8 fast"])
    (launch,) = seen.all("cuLaunchKernelEx")
    wanted = [struct.pack("<Q", 0x1000 * number) for number in range(1, 6)]
    wanted += [struct.pack("<f", 1.5), struct.pack("<h", -2), struct.pack("<Q", 3)]
    assert [bytes.fromhex(value) for value in launch["parameters"]] == wanted
    assert (launch["stream"], launch["block"]) == (0x5000, [32, 1, 1])


def test_sizes_that_share_their_code_are_one_image(program: Path) -> None:
    _, seen = told(program, [])
    assert len(seen.all("cuLibraryLoadData")) == 1
    assert (program.parent / "blend" / "blend.c").read_text(encoding="ascii").count("_image[]") == 1


def test_c_and_python_choose_by_the_same_data(tmp_path: Path) -> None:
    """C and Python callers need only the sizes if these select one specialization."""
    choices: list[Mapping[str, object]] = [
        {"N": 8, "count": 1},
        {"N": 16, "count": 2},
        {"N": 16, "count": 2, "twice": True},
    ]
    folder = export(bundle_kernels.scale, choices, tmp_path / "bundle")
    header = (folder / "scale.h").read_text(encoding="ascii")
    sizes = header[header.index("typedef struct scale_sizes {") : header.index("} scale_sizes;")]
    assert sizes.splitlines()[1:] == ["    long long N; /* 8, 16 */", "    int twice; /* 0, 1 */"]
    loaded = pyptx.load(folder)["scale"]
    assert loaded.specialize([Argument((8,), "f32", (1,))], {"alpha": 1.0}).grid == (1, 1, 1)
    with pytest.raises(KeywordError, match="compiled 2 times"):
        loaded.specialize([Argument((16,), "f32", (1,))], {"alpha": 1.0})
    with pytest.raises(ContractError, match="not compiled for N=9"):
        loaded.specialize([Argument((9,), "f32", (1,))], {"alpha": 1.0})


# --- by DLPack --------------------------------------------------------------------------------------


def test_a_launch_by_dlpack_passes_what_the_tensors_say(program: Path) -> None:
    shifted = {
        **arrays(16),
        "A": replace(arrays(16)["A"], data=0xFFF0, offset=0x20),
        "norms": Tensor(0x50000, F64, (16,), (1,)),
    }
    said, seen = told(
        program, [call(shifted), call({}, "exact"), call({"new": replace(arrays()["new"], dtype=(1, 16, 1))})]
    )
    assert said == ["0 success"] * 3
    launches = seen.all("cuLaunchKernelEx")
    assert [launch["grid"] for launch in launches] == [[16, 8, 1], [4, 8, 2], [4, 8, 1]]
    wanted = [struct.pack("<Q", address) for address in (0x10010, 0x20000, 0x30000, 0x40000, 0x50000)]
    wanted += [struct.pack("<f", 0.1), struct.pack("<h", -3), struct.pack("<Q", 2**64 - 1)]
    assert [bytes.fromhex(value) for value in launches[0]["parameters"]] == wanted
    assert (launches[0]["stream"], launches[0]["context"]) == (0x6000, 0)


def test_c_takes_the_element_types_that_python_takes(tmp_path: Path) -> None:
    folder = export(bundle_kernels.typed, [{"N": 8}], tmp_path / "bundle")
    program = Path(__file__).with_name("bundle_types.py")
    seen = run(Path(sys.executable), str(program), str(compile_shared(folder, "typed")))
    for number, (declared, results) in enumerate(zip([*BY_NAME, "f32"], json.loads(seen.steps["rows"]), strict=True)):
        refused = -100 - 9 * number - 1  # an array has nine error codes; the second means a wrong element type
        assert results == [0 if takes(declared, BY_ARRAY[row.array].name) else refused for row in ELEMENT_TYPES]


def test_an_extent_of_one_may_have_any_stride(program: Path) -> None:
    odd = {
        "A": Tensor(0x10000, F32, (1, 32), (-77, 1)),
        "new": Tensor(0x20000, BF16, (32, 1), (1, 2**62)),
        "flags": Tensor(0x30000, (6, 8, 1), (3, 1), (1, 0)),  # element type bool of DLPack, for an array of u8
        "Y": Tensor(0x40000, F32, (1, 32), (0, 1)),
        "norms": Tensor(0x50000, F64, (1,), (9,)),
    }
    said, _ = told(program, [call(odd, '"?\\??/\u00e9')])
    assert said == ["0 success"]


def test_arrays_of_another_device_are_launched_there_whatever_is_current(program: Path) -> None:
    elsewhere = {name: replace(tensor, device=(2, 1)) for name, tensor in arrays().items()}
    said, seen = told(program, [call(elsewhere), call({}), "context -1", call({})])
    assert said == ["0 success"] * 4
    assert [launch["context"] for launch in seen.all("cuLaunchKernelEx")] == [1, 0, 0]
    set_to = [each["device"] for each in seen.all("cuCtxSetCurrent")]
    assert set_to == [0, *(1, 0), -1, *(0, -1)]  # each call restores the previously current context
    held = [len(seen.all(f"cuDevicePrimaryCtx{what}")) for what in ("Retain", "Release")]
    assert held[0] - held[1] == 1  # the test program still retains one primary context, the bundle's loader none


GOOD = arrays()
HUGE = 2**62
REFUSED: list[tuple[str, Tensor | None, str]] = [
    ("A", None, "A is a null pointer"),
    ("new", replace(GOOD["new"], data=0), "new is a null pointer, or a tensor without data"),
    ("Y", Tensor(0x40000, F32, None, ndim=2), "Y is a null pointer, or a tensor without data or shape"),
    ("A", replace(GOOD["A"], dtype=(2, 64, 1)), "A must have dtype f32"),
    ("A", replace(GOOD["A"], dtype=(0, 32, 1)), "A must have dtype f32"),
    ("A", replace(GOOD["A"], dtype=(2, 32, 4)), "A must have dtype f32"),
    ("A", replace(GOOD["A"], dtype=(255, 32, 1)), "A must have dtype f32"),
    ("new", replace(GOOD["new"], dtype=(2, 32, 1)), "new must have dtype 16-bit elements"),
    ("flags", replace(GOOD["flags"], dtype=(0, 8, 1)), "flags must have dtype u8"),
    ("A", replace(GOOD["A"], ndim=1), "A must have 2 dimensions"),
    ("norms", replace(GOOD["norms"], ndim=2**31 - 1), "norms must have 1 dimension"),
    ("norms", replace(GOOD["norms"], ndim=-1), "norms must have 1 dimension"),
    ("Y", replace(GOOD["Y"], shape=(4, 9)), "Y must have shape [M][K], with one size for each name"),
    ("flags", replace(GOOD["flags"], shape=(2, 4)), "flags must have shape [3][M]"),
    ("A", replace(GOOD["A"], shape=(0, 8)), "A must have shape"),
    ("A", replace(GOOD["A"], shape=(-4, -8)), "A must have shape"),
    ("A", replace(GOOD["A"], shape=(HUGE, 8)), "A must have shape"),
    ("A", replace(GOOD["A"], shape=(2**40, 2**40)), "A must have shape"),
    ("A", replace(GOOD["A"], shape=(-(2**63), -1)), "A must have shape"),
    ("A", replace(GOOD["A"], strides=(16, 1)), "A must be dense, row-major"),
    ("A", replace(GOOD["A"], strides=(8, -1)), "A must be dense, row-major"),
    ("new", replace(GOOD["new"], strides=None), "new must be dense, column-major"),
    ("new", replace(GOOD["new"], strides=(4, 1)), "new must be dense, column-major"),
    ("A", replace(GOOD["A"], data=0x10008), "A is not aligned to 16 bytes"),
    ("norms", replace(GOOD["norms"], offset=4), "norms is not aligned to 8 bytes"),
    ("A", replace(GOOD["A"], offset=2**64 - 0x10000), "A is a null pointer"),
    ("new", replace(GOOD["new"], device=(1, 0)), "new is not in CUDA device memory"),
    ("A", replace(GOOD["A"], device=(13, 0)), "A is not in CUDA device memory"),
    ("norms", replace(GOOD["norms"], device=(2, 1)), "norms is on another device than the previous arrays"),
    ("norms", replace(GOOD["norms"], data=0x40000), "norms overlaps another output in memory"),
    ("norms", replace(GOOD["norms"], data=0x40078), "norms overlaps another output in memory"),
    ("Y", replace(GOOD["Y"], data=0x50010), "norms overlaps another output in memory"),
]  # fmt: skip


def test_what_does_not_fit_is_refused_by_name_and_nothing_is_launched(program: Path) -> None:
    said, seen = told(program, [call({name: tensor}) for name, tensor, _ in REFUSED])
    for words, (_, _, wanted) in zip(said, REFUSED, strict=True):
        code, _, text = words.partition(" ")
        assert text.startswith(wanted)
        assert int(code) <= -100
    assert len({words.split(" ")[0] for words in said}) == len({words.split(" ", 1)[1] for words in said})
    assert not seen.all("cuLaunchKernelEx")


def test_sizes_schemes_and_devices_that_are_not_there_are_refused(program: Path) -> None:
    nowhere = {name: replace(tensor, device=(2, 7)) for name, tensor in arrays().items()}
    asked = [call(arrays(5)), call({}, "slow"), call({}, "-"), call(nowhere), "nothing sizes", "nothing tensors"]
    said, seen = told(program, asked)
    assert [words.split(" ")[0] for words in said] == ["-5", "-5", "-5", "101", "-4", "-4"]
    assert not seen.all("cuLaunchKernelEx")


def test_outputs_may_lie_where_inputs_do_and_beside_each_other(program: Path) -> None:
    beside = {"norms": replace(GOOD["norms"], data=0x40080), "Y": replace(GOOD["Y"], data=0x40000)}
    said, _ = told(program, [call({"Y": replace(GOOD["Y"], data=0x10000)}), call(beside)])
    assert said == ["0 success"] * 2


def test_before_loading_every_launch_says_so(program: Path) -> None:
    seen = run(program, lines=["sizes 4 8 fast", call({}), "unload"])
    assert seen.steps["0"].startswith("-3 the kernels are not loaded")
    assert seen.steps["1"].startswith("-3 the kernels are not loaded")
    assert seen.steps["2"] == "0 success"


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-1, 0, 1, 4, 8, 16, 2**31, 2**32, HUGE])
LISTS = st.none() | st.lists(NUMBERS, min_size=1, max_size=6).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor | None:
    """Draw a tensor of rank 0 to 6 with a stride for each extent and otherwise arbitrary fields."""
    shape = draw(LISTS)
    return draw(
        st.none()
        | st.builds(
            Tensor,
            data=st.integers(0, 2**64 - 1) | st.sampled_from([0x10000, 0x40000]),
            dtype=st.tuples(*[st.integers(0, 255)] * 2, st.integers(0, 65535)) | st.sampled_from([F32, F64, BF16, U8]),
            shape=st.just(shape),
            strides=st.none() | st.tuples(*[NUMBERS] * len(shape or ())),
            device=st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1)) | st.just((2, 0)),
            offset=st.integers(0, 2**64 - 1) | st.just(0),
        )
    )


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.sampled_from(NAMES), tensors()), min_size=50, max_size=200))
@pytest.mark.long
def test_whatever_a_tensor_says_the_answer_is_a_code_with_words(
    program: Path, changes: list[tuple[str, Tensor | None]]
) -> None:
    said, seen = told(program, [call({name: tensor}) for name, tensor in changes])
    launched = [words for words in said if words == "0 success"]
    assert len(launched) == len(seen.all("cuLaunchKernelEx"))
    for words in said:
        code, _, text = words.partition(" ")
        assert int(code) == 0 or int(code) == -5 or -100 - 5 * 9 < int(code) <= -100 or int(code) == 101
        assert "no text for" not in text
