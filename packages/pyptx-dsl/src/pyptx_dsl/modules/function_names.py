"""Names of module functions, returned by the decorators of `ModuleBuilder`."""

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
    """Name of a module's function, an operand of `ptx.call`; `ptx()` returns the PTX text of the module."""

    __slots__ = ("_entry", "_module")

    _entry: Entry
    _module: ModuleBuilder

    @classmethod
    def of(cls, entry: Entry, module: ModuleBuilder) -> FunctionName:
        """Return the name of the function `entry` of `module`."""
        self = cls(entry.head.name)
        self._entry = entry
        self._module = module
        return self

    def ptx(self) -> str:
        """Return the PTX text of the function's module, like the module's `ptx()`."""
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
        """Return a kernel that is called with arrays of torch, jax or NumPy, like one of `@kernel`.

            double = scale.kernel(in_specs={"data": Tile("N", f32)}, grid=lambda N: -(-N // 128), block=128)
            double(x, count=1000)

        `in_specs` and `out_specs` name the parameters that are input arrays and allocated output arrays; a call passes
        the others by name. Parameters have their names in the text, without the kernel's name as a prefix (`param_0`),
        unless `names` has a name for each of them. `.reqntid` and `.reqnctapercluster` in the header specify block and
        cluster. The other options are as in `@kernel`: without outputs, all inputs are written unless `mutates` names
        some. Nothing is traced again. Raises CallError for a device function, SignatureError for names that do not
        match the header and for a parameter that is a structure.
        """
        from pyptx_dsl.modules.entry_kernels import Launch, entry_kernel

        said = Launch(grid, block, cluster, smem, mutates, launch, persistent)
        return entry_kernel(self._entry, self._module.module, names, in_specs, out_specs, said)
