"""What is returned for a function of a module that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.tracebacks import entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyptx_dsl.contract.specs import Tile
    from pyptx_dsl.kernels.kernel import Kernel
    from pyptx_dsl.modules.builder import ModuleBuilder
    from pyptx_dsl.modules.entry_kernels import Entry

__all__ = ["FunctionName"]


class FunctionName(str):
    """The name of a function of a module, an operand of `ptx.call`; `ptx()` is the text of its module."""

    __slots__ = ("_entry", "_module")

    _entry: Entry
    _module: ModuleBuilder

    @classmethod
    def of(cls, entry: Entry, module: ModuleBuilder) -> FunctionName:
        """Return the name of a function of a module."""
        self = cls(entry.head.name)
        self._entry = entry
        self._module = module
        return self

    def ptx(self) -> str:
        """Return the text of the module that has the function, as its own `ptx()` does."""
        return self._module.ptx()

    @entry
    def kernel(
        self,
        *,
        in_specs: Mapping[str, Tile] | None = None,
        out_specs: Mapping[str, Tile] | None = None,
        names: Sequence[str] | None = None,
        grid: Callable[..., object] | Sequence[int] | int | None = None,
        block: Sequence[int] | int | None = None,
        cluster: Sequence[int] | int | None = None,
        smem: int = 0,
        mutates: Sequence[str] = (),
        launch: Mapping[str, object] | None = None,
        persistent: int = 0,
    ) -> Kernel:
        """Return the kernel as one that is called with arrays of torch, jax or NumPy, as those of `@kernel` are.

            double = scale.kernel(in_specs={"data": Tile("N", f32)}, grid=lambda N: -(-N // 128), block=128)
            double(x, count=1000)

        `in_specs` and `out_specs` name the parameters that are arrays, the inputs and what the runtime allocates; a
        call passes the others by name. Parameters are called as in the text, without the name of the kernel in front
        (`param_0`), unless `names` says something else for each of them. The header says block and cluster where it
        has `.reqntid` and `.reqnctapercluster`; the rest is as in `@kernel`: without outputs, all inputs are written to
        unless `mutates` names some. Nothing is traced again. Raise CallError for a device function, SignatureError for
        names that do not fit the header and for a parameter that is a structure.
        """
        from pyptx_dsl.modules.entry_kernels import Launch, entry_kernel

        said = Launch(grid, block, cluster, smem, mutates, launch, persistent)
        return entry_kernel(self._entry, self._module.module, names, in_specs, out_specs, said)
