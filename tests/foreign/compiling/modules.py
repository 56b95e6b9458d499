"""Files of a compiled kernel and its launch: `launch.json`, `arrays.npz`, and the text, `0.ptx`, of each unit."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from cases import Array, Case, Described, Surfaced, Textured

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


# By dtype name of an array with a tensor map: the element type's PTX name.
OF_MAPS = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
    "int32": "s32", "int8": "u8", "uint8": "u8",
}  # fmt: skip


@dataclass(eq=False)
class Parameters:
    """Parameters of a PTX entry, in order, each as a JSON object (row) of `launch.json`."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    names: dict[Array, str] = field(default_factory=dict)

    @classmethod
    def behind(cls, first: Compiled | None) -> Parameters:
        """Return an empty parameter list that shares the arrays of the preceding launch `first`."""
        return cls(arrays=first.parameters.arrays, names=first.parameters.names) if first else cls()

    def array(self, array: Array, **more: Any) -> None:
        """Add a pointer to an array; an array that occurs twice is stored once."""
        name = self.names.setdefault(array, f"array{len(self.names)}")
        self.arrays[f"{name}.start"] = array.start
        row: dict[str, Any] = {"array": name, "element": array.element, **more}
        if array.want is not None:
            self.arrays[f"{name}.want"] = array.want
            row |= {"wanted": True, "tolerance": array.tolerance, "ordered": array.ordered}
        self.rows.append(row)

    def described(self, argument: Described) -> None:
        """Add a parameter: the tensor map of an array."""
        described = {"dtype": OF_MAPS[argument.array.element], "box": argument.box, "swizzle": argument.swizzle}
        self.array(argument.array, map=described | {"fill": argument.fill, "tiles": argument.tiles})

    def textured(self, argument: Textured) -> None:
        """Add a parameter: the texture object of an array."""
        texture = {"geometry": argument.geometry, "normalized_float": argument.normalized_float}
        self.array(argument.array, texture=texture, sampler=argument.sampler)

    def structure(self, argument: Array | bytes | Sequence[Any]) -> None:
        """Add a structure as a parameter: with a pointer to an array, with raw bytes, or with members."""
        if isinstance(argument, bytes):
            self.rows.append({"bytes": argument.hex()})
            return
        members = Parameters(arrays=self.arrays, names=self.names)
        for member in [argument] if isinstance(argument, Array) else argument:
            members.add(member)
        self.rows.append({"members": members.rows})

    def number(self, value: float, kind: str) -> None:
        """Add a number as a parameter; `kind` is NumPy's name of its type."""
        self.rows.append({"number": value, "kind": kind})

    def add(self, argument: Any) -> None:
        """Add an array, a tensor map, a texture, a surface or a number; `int` and `float` become C's 32-bit types."""
        if isinstance(argument, Array):
            self.array(argument)
        elif isinstance(argument, Described):
            self.described(argument)
        elif isinstance(argument, Textured):
            self.textured(argument)
        elif isinstance(argument, Surfaced):
            self.array(argument.array, surface={"geometry": argument.geometry})
        elif isinstance(argument, np.generic):
            self.number(argument.item(), argument.dtype.name)
        else:
            self.number(argument, "float32" if isinstance(argument, float) else "int32")


@dataclass(frozen=True, eq=False)
class Compiled:
    """Output of a compiler for a case.

    `linked` are the texts of further translation units, `behind` is the output for the preceding launch. `triton` is
    Triton's launch data, `cute` that of the CuTe DSL; either replaces block and cluster.
    """

    text: str
    entry: str
    parameters: Parameters
    block: Any
    grid: Any = None
    cluster: Any = 0
    shared_bytes: int = 0
    linked: tuple[str, ...] = ()
    behind: Compiled | None = None
    triton: dict[str, Any] | None = None
    cute: dict[str, Any] | None = None


def write(folder: Path, case: Case, made: Compiled) -> None:
    """Write the files of a compiled kernel, which `tests.foreign.running` reads."""
    folder.mkdir(parents=True)
    for number, text in enumerate([made.text, *made.linked]):
        (folder / f"{number}.ptx").write_text(text, encoding="utf-8", newline="")
    np.savez(folder / "arrays.npz", **made.parameters.arrays)
    launches = [_launch(case, made)]
    if case.behind and made.behind:
        launches = [_launch(case.behind, made.behind), launches[0] | {"programmatic_dependent": True}]
    (folder / "launch.json").write_text(json.dumps(launches, indent=1, default=str), encoding="utf-8")


def _launch(case: Case, made: Compiled) -> dict[str, Any]:
    grid, arguments = _three(made.grid or case.grid), made.parameters.rows
    if made.cute:
        return {"grid": _three(case.grid) if case.grid else None, "arguments": arguments, "cute": made.cute}
    if made.triton:
        return {"grid": grid, "arguments": arguments, "triton": made.triton}
    block, cluster = _three(made.block or case.block), _three(made.cluster or case.cluster or 1)
    shared = made.shared_bytes or case.shared_bytes
    return {"entry": made.entry, "grid": grid, "block": block, "cluster": cluster, "shared_bytes": shared,
            "cooperative": case.cooperative, "arguments": arguments}  # fmt: skip


def _three(size: Any) -> list[int]:
    given = [int(size)] if isinstance(size, int) else [int(each) for each in size]
    return given + [1] * (3 - len(given))
