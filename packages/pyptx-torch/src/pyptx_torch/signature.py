"""Schema of a kernel's torch operator, from its declaration.

    rms_norm(Tensor X, Tensor W, *, str keywords="") -> Tensor
    rms_norm.out(Tensor X, Tensor W, Tensor(a!) Y, *, str keywords="") -> ()
    fill(*, SymInt? N=None, Scalar? value=None, str keywords="", Device? device=None) -> Tensor
    scale_(Tensor(a!) X, *, Scalar? alpha=None, str keywords="") -> ()

Sizes that no input determines and `raw_params` values are arguments, because they may change without a new graph. All
other keywords of a call are text (see `literals`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyptx_dsl.errors import ArgumentCountError, KeywordError
from pyptx_dsl.registers.operands import as_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.contract.parameters import RawParameter
    from pyptx_dsl.kernels.declaration import Declaration

# torch's int arguments are signed 64-bit, so a u64 number from 2^63 on is passed as itself minus 2^64.
_LARGEST = (1 << 63) - 1
_WRAP = 1 << 64


@dataclass(frozen=True, slots=True)
class Number:
    """Numeric argument of an operator: a size, or a `raw_params` entry of the kernel."""

    name: str
    raw: RawParameter | None

    @property
    def schema(self) -> str:
        """The argument in torch's schema syntax. Dynamo keeps a Scalar symbolic, but specializes on a float."""
        kind = "Scalar" if self.raw is not None and self.raw.type.is_float else "SymInt"
        return f"{kind}? {self.name}=None"

    def encode(self, kernel: str, value: object) -> object:
        """Return a size or `raw_params` value as the operator's argument; raise KeywordError for an invalid value."""
        if self.raw is None:
            size = as_count(value)
            if size is None:
                raise KeywordError(f"{kernel}: dimension {self.name} must be a positive int, got {value!r}")
            return size
        number = self.raw.value(value)
        return number - _WRAP if isinstance(number, int) and number > _LARGEST else number

    def decode(self, value: object) -> object:
        """Return the kernel's size or `raw_params` value for an operator's argument, the inverse of `encode`."""
        wrapped = self.raw is not None and self.raw.type.name == "u64" and isinstance(value, int) and value < 0
        return value + _WRAP if wrapped and isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class Signature:
    """The names and order of a kernel's operator arguments, from which torch's schemas are made."""

    kernel: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    mutated: tuple[int, ...]
    numbers: tuple[Number, ...]
    keywords: str
    device: str

    def schema(self, name: str) -> str:
        """Return the schema of the default overload, which allocates the outputs."""
        returned = ", ".join("Tensor" for _ in self.outputs)
        return self._schema(name, (), returned if len(self.outputs) == 1 else f"({returned})")

    def out_schema(self, name: str) -> str:
        """Return the schema of the `out` overload, which writes to given tensors and returns nothing."""
        return self._schema(f"{name}.out", self.outputs, "()")

    def _schema(self, name: str, written: Sequence[str], returned: str) -> str:
        tensors = list[str]()
        for index, tensor in enumerate((*self.inputs, *written)):
            writes = index in self.mutated or index >= len(self.inputs)
            # In a torch schema, each tensor that the kernel writes has an alias set of its own, named by an identifier.
            tensors.append(f"Tensor(a{index}!) {tensor}" if writes else f"Tensor {tensor}")
        fixed = [*(number.schema for number in self.numbers), f'str {self.keywords}=""']
        device = [] if self.inputs or written else [f"Device? {self.device}=None"]
        return f"{name}({', '.join([*tensors, '*', *fixed, *device])}) -> {returned}"

    def check_count(self, given: int) -> None:
        """Raise ArgumentCountError unless the kernel takes this number of inputs."""
        if given != len(self.inputs):
            from pyptx_ir.isa.modules.counting import counted

            missing = self.inputs[given:]
            listed = ", ".join(self.inputs) or "none"
            raise ArgumentCountError(
                f"{self.kernel}: expected {counted(len(self.inputs), 'tensor')} ({listed}), got {given}"
                + (f": {', '.join(missing)} missing" if missing else "")
            )

    def check_outputs(self, tensors: Sequence[bool]) -> None:
        """Raise an error unless `out=` has a tensor for each output; `tensors`: whether each value is a tensor."""
        listed = ", ".join(self.outputs) or "none"
        if len(tensors) != len(self.outputs):
            from pyptx_ir.isa.modules.counting import counted

            raise ArgumentCountError(
                f"{self.kernel}: expected {counted(len(self.outputs), 'tensor')} in out= ({listed}), got {len(tensors)}"
            )
        for name, is_tensor in zip(self.outputs, tensors, strict=True):
            if not is_tensor:
                raise KeywordError(f"{self.kernel}: out= for {name} must be a tensor")


def signature_of(declaration: Declaration) -> Signature:
    """Return the signature of a kernel's operator."""
    inputs = declaration.tensors[: len(declaration.tensors) - len(declaration.out_specs)]
    told = {name for tile in declaration.in_specs for name in tile.symbolic_dims}
    raw = {row.name: row for row in declaration.raw if row.is_scalar}
    names = dict.fromkeys((*(name for name in declaration.dimensions if name not in told), *raw))
    # A template value affects the PTX, so a scalar parameter that is also a template value is a fixed keyword.
    numbers = tuple(Number(name, raw.get(name)) for name in names if name not in declaration.templates)
    taken = {*declaration.tensors, *(number.name for number in numbers)}
    return Signature(
        kernel=declaration.name,
        inputs=inputs,
        outputs=declaration.tensors[len(inputs) :],
        mutated=declaration.mutated,
        numbers=numbers,
        keywords=_free("keywords", taken),
        device=_free("device", taken),
    )


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
