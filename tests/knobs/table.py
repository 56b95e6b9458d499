"""The knobs: functions that emit exact PTX, and their optional parameters.

A knob is identified by its name on the pages (`m` is a module builder). Its *words* are its parameters with a default.
The pages must show each word of a knob; of functions that share a word, one suffices.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pyptx import module, ptx, reg
from pyptx_dsl.instructions.header_directives import HeaderDirectives
from pyptx_dsl.modules.builder import ModuleBuilder
from pyptx_dsl.modules.options import FunctionOptions, VariableOptions

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_PTX = [
    "addr",
    "tensor_addr",
    "unified",
    "call",
    "callprototype",
    "calltargets",
    "branchtargets",
    "parameter",
    "declarator",
    "var",
    "directive",
    "empty",
    "open_scope",
    "close_scope",
    "scope",
    "formatted",
    "expr",
    "if_",
    "elif_",
    "else_",
    "loop",
    "while_",
    "range_",
    "block",
    "predicated",
    "break_",
    "continue_",
    "bra",
    "label",
    "kloop",
    "asm_region",
    "mbarrier.wait",
    "file_",
    "loc",
    "pragma",
    "comment",
]
_OF_A_MODULE = [name for name in dir(ModuleBuilder) if not name.startswith("_")]

_VARIABLES = ("m.var", "m.global_", "m.const", "m.shared")
_FUNCTIONS = ("m.entry", "m.func", "m.declare")

KNOBS: dict[str, Callable[..., object]] = {
    "module": module,
    **{f"m.{name}": getattr(ModuleBuilder, name) for name in _OF_A_MODULE},
    **{f"reg.{name}": getattr(reg, name) for name in ("bank", "declare", "pair")},
    **{f"ptx.{name}": ptx.mbarrier.wait if "." in name else getattr(ptx, name) for name in _OF_PTX},
}
"""The knobs (functions that emit exact PTX), by their names on the pages."""

SHARED: dict[frozenset[str], tuple[str, ...]] = {
    frozenset(VariableOptions.__annotations__): (*_VARIABLES, "ptx.var"),
    frozenset(FunctionOptions.__annotations__.keys() - HeaderDirectives.__annotations__): _FUNCTIONS,
    frozenset(HeaderDirectives.__annotations__): (*_FUNCTIONS, "ptx.callprototype"),
    frozenset(["size"]): (*_VARIABLES, "ptx.var"),
    frozenset(["params", "returns"]): _FUNCTIONS,
    frozenset(["vector", "align"]): ("reg.bank", "reg.declare"),
    frozenset(inspect.signature(ptx.parameter).parameters): ("m.param", "ptx.parameter"),
    frozenset(inspect.signature(ptx.declarator).parameters): ("m.declarator", "ptx.declarator"),
    frozenset(["leading", "text"]): ("m.formatted", "ptx.formatted"),
    frozenset(["terminated"]): ("m.directive", "ptx.directive"),
    frozenset(["next_label", "end_label", "define_end"]): ("ptx.loop", "ptx.while_", "ptx.range_"),
    frozenset(["end_label", "end_uniform", "define_end"]): ("ptx.if_", "ptx.elif_", "ptx.else_"),
    frozenset(["label", "uniform", "define_label"]): ("ptx.if_", "ptx.elif_"),
    frozenset(["pred", "uniform"]): ("ptx.break_", "ptx.continue_"),
}
"""Parameters with one meaning in several functions; the pages must show each parameter with one of the functions."""


def words_of(function: Callable[..., object]) -> list[str]:
    """Return the parameters of a function that have a default."""
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is not inspect.Parameter.empty]


def alternatives() -> list[tuple[str, tuple[str, ...]]]:
    """Return each parameter ("": any call) with its knobs; the pages must show one of these with the parameter."""
    asked = {(word, knobs) for words, knobs in SHARED.items() for word in words if word != "name"}
    for knob, function in KNOBS.items():
        asked.add(("", (knob,)))
        asked |= {(word, (knob,)) for word in words_of(function) if not _is_shared(word, knob)}
    return sorted(asked)


def _is_shared(word: str, knob: str) -> bool:
    return any(word in words and knob in knobs for words, knobs in SHARED.items())
