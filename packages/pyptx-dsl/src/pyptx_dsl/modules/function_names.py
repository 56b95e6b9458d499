"""What is returned for a function of a module that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyptx_dsl.modules.builder import ModuleBuilder

__all__ = ["FunctionName"]


class FunctionName(str):
    """The name of a function of a module, an operand of `ptx.call`; `ptx()` is the text of its module."""

    __slots__ = ("_module",)

    _module: ModuleBuilder

    @classmethod
    def of(cls, name: str, module: ModuleBuilder) -> FunctionName:
        """Return the name of a function of a module."""
        self = cls(name)
        self._module = module
        return self

    def ptx(self) -> str:
        """Return the text of the module that has the function, as its own `ptx()` does."""
        return self._module.ptx()
