"""Tracing of a function body: a Python function runs once, and its calls emit the statements between the braces."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyptx_dsl.errors import CallError, ReturnedValueError
from pyptx_dsl.kernels.kernel import Kernel
from pyptx_dsl.mistakes.misuse import worded
from pyptx_dsl.mistakes.returned import last_return
from pyptx_dsl.modules.statements import parameter_kinds, parameter_types
from pyptx_dsl.tracing.bodies import required_arguments, requires_keywords, takes_any
from pyptx_dsl.tracing.finish import Finished, finish
from pyptx_dsl.tracing.trace import Trace, tracing
from pyptx_ir.collector import collector_paused

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyptx_dsl.modules.statements import Statements
    from pyptx_dsl.tracing.checker import Forms
    from pyptx_dsl.tracing.label_schemes import LabelNames
    from pyptx_dsl.tracing.statement_checks import StatementChecker
    from pyptx_ir.syntax import nodes


_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _no_forms() -> Forms:
    return {}


@dataclass(frozen=True, slots=True)
class Platform:
    """Target and PTX version of a module, and the instruction forms that the module's checker has accepted so far."""

    target: str = ""
    version: tuple[int, int] = (0, 0)
    forms: Forms = field(default_factory=_no_forms)


def traced(
    function: Callable[..., object],
    header: nodes.Function,
    around: Statements,
    platform: Platform,
    checker: StatementChecker,
    *,
    unchecked: bool,
    labels: LabelNames | None = None,
) -> Finished:
    """Run `function` and return the PTX body that it emits; `around` is the module, `checker` checks instructions.

    `labels` is the pattern for unnamed labels.
    """
    _refuse(function, header.name)
    arguments = _arguments(function, header)
    trace = Trace(header.name, platform.target, platform.version, platform.forms)
    trace.exact = True
    trace.recorder = around.recorder
    trace.declarations = checker
    trace.names.surround(around.declared)
    trace.names.scheme = labels
    for name, kind in parameter_kinds((*header.returns, *(header.parameters or ()))):
        trace.names.claim_parameter(name, kind)
    trace.parameter_types = parameter_types(header.parameters or ())
    if unchecked:
        trace.check_nothing()
    with collector_paused(lasting=True):
        with tracing(trace), worded():
            returned = function(*arguments)
        if returned is not None:
            raise _returned(function, header.name, returned)
        return finish(trace)


def _arguments(function: Callable[..., object], header: nodes.Function) -> tuple[str, ...]:
    """Return the arguments of a body function: names of PTX return values and parameters, or no arguments."""
    wanted = required_arguments(function)
    names = tuple([each.name for each in (*header.returns, *(header.parameters or ()))])
    if takes_any(function) and wanted <= len(names):
        return names
    if wanted in {0, len(names)}:
        return names[:wanted]
    from pyptx_ir.isa.modules.counting import counted

    raise CallError(
        f"the body of {header.name!r} has {counted(wanted, 'argument')}, expected {len(names)} or none",
        help="write one argument for each return value and parameter",
    )


def _refuse(function: object, name: str) -> None:
    """Raise CallError for a body that is not a plain function: a kernel, a generator, a coroutine, another object."""
    if isinstance(function, Kernel):
        raise CallError(f"the body of {name!r} is a kernel", help="remove @kernel from the body function")
    code = getattr(function, "__code__", None)
    if not callable(function) or isinstance(function, type) or requires_keywords(function):
        raise CallError(
            f"the body of {name!r} must be a function, with arguments for the parameter names or none, got "
            f"{function!r}",
            help='read parameters with ptx.inst.ld.param.u64(p, ptx.addr("name"))',
        )
    if code is not None and code.co_flags & _SUSPENDED:
        raise CallError(
            f"the body of {name!r} is a generator or a coroutine, which would not run",
            help="write a plain function, without yield and async",
        )


def _returned(function: object, name: str, value: object) -> ReturnedValueError:
    code = getattr(function, "__code__", None)
    return ReturnedValueError(
        f"the body of {name!r} returns {value!r}, which is ignored",
        where=None if code is None else last_return(code),
        help="return a value with st.param to a parameter in returns=[…]",
    )
