"""Former public names, for errors that state the present names. This table is removed with the first release."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Final, NoReturn, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

NAMES: Final = {
    "AsyncItem": "AsyncIssue",
    "Claim": "Rewrite",
    "Claims": "AsyncRegisters",
    "Examination": "DoctorCheck",
    "Judge": "RegisterChecker",
    "Mapped": "WithDescriptor",
    "ProductError": "MmaError",
    "Step": "InstructionSemantics",
    "Touch": "AsyncAccess",
    "Turn": "ExecutionContext",
    "Uninitialised": "Uninitialized",
    "Withdrawn": "RejectedRewrite",
    "Work": "AsyncOperations",
    "compressed": "compress",
    "decompressed": "decompress",
    "in_pieces": "text_body",
    "pyptx.emitter.learn": "infer_style",
    "pyptx_ir.syntax.style.learn": "infer_style",
    "pyptx_ir.syntax.style.learned": "style_and_items",
    "pyptx_sim.extension.Layout": "AccessLayout",
    "pyptx_transpile.Plan": "RewritePlan",
    "written": "formatted",
}
"""Present name by former name, or by module and former name if other modules still use the former name."""
ATTRIBUTES: Final = {
    "close_lead": "closing_trivia",
    "hint": "help",
    "lead": "leading_trivia",
    "leads": "trivia",
    "met": "matched",
    "neighbour": "neighbor",
    "panel_bytes": "box_bytes",
    "panel_columns": "box_columns",
    "panel_width": "box_row_bytes",
    "panels": "boxes",
    "withdrawn": "rejected",
}
KEYWORDS: Final = {
    "any_form": "closest_form",
    "dependent": "programmatic_dependent",
    "dry": "keep_arrays",
    "fresh": "uninitialized",
    "hint": "help",
    "late": "delay_async",
    "lead": "leading",
    "observer": "checker",
    "spelling": "text",
    "told": "on_progress",
}


def missing_attribute(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module lacks; for a renamed one, the message states the present name."""
    present = NAMES.get(f"{module}.{name}", NAMES.get(name))
    now = f"; {name} is now {present}" if present else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{now}")


def former_attribute(self: object, name: str) -> NoReturn:
    """Raise AttributeError for an attribute that an object lacks; used as `__getattr__` of public classes."""
    kind = type(self)
    present = ATTRIBUTES.get(name, "")
    now = f"; {name} is now {present}" if hasattr(kind, present) else ""
    raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{now}", name=name, obj=self)


def with_present_keywords(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` with a TypeError for renamed keywords that states the present keywords."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for old in kwargs.keys() & KEYWORDS.keys():
            raise TypeError(f"{function.__name__}() has no keyword {old!r}; {old}= is now {KEYWORDS[old]}=")
        return function(*args, **kwargs)

    return call
