"""`ptx.printf`: formatted output of each thread, as CUDA's `printf` compiles.

The format string is in global memory. The values are in a buffer in local memory, each at a multiple of its size.
`vprintf`, which the driver provides, receives the addresses of format and buffer. Programming guide: "Formatted
Output".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from pyptx_dsl.errors import OperandError
from pyptx_dsl.registers.handle import Handle
from pyptx_dsl.registers.operands import AddressOperand, as_float, as_integer
from pyptx_dsl.registers.operators import staged
from pyptx_dsl.trace_context import active
from pyptx_dsl.types import f32, f64, s32, s64, u32, u64
from pyptx_ir.syntax import nodes
from pyptx_ir.syntax.operands import Immediate, Symbol, Vector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_dsl.tracing.trace import Trace
    from pyptx_dsl.types import PtxType

__all__ = ["printf"]

_DIRECTIVE = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d*)(?:\.\d*)?(?P<length>hh|h|ll|l|j|z|t|L)?(?P<kind>.?)", re.DOTALL
)
_WIDE = frozenset({"l", "ll", "j", "z", "t"})
_MOST_VALUES = 32  # maximum number of arguments of CUDA's printf. Programming guide: "Limitations"
_STRINGS = "ptx.printing.strings"
_CALLS = "ptx.printing.calls"
_BITS = 64


@dataclass(frozen=True, slots=True)
class Kind:
    """Values that a printf directive accepts: their buffer type without and with `ll`, and a name for messages."""

    narrow: PtxType | None
    wide: PtxType | None
    shown: str


_SIGNED, _UNSIGNED = Kind(s32, s64, "an integer"), Kind(u32, u64, "an integer")
_FLOAT, _POINTER = Kind(f64, f64, "a float"), Kind(u64, u64, "a 64-bit address")
_STRING = Kind(u64, u64, "a Python string, or the 64-bit address of a string in memory")
_KINDS: dict[str, Kind] = {
    **dict.fromkeys("di", _SIGNED),
    **dict.fromkeys("ouxX", _UNSIGNED),
    "c": Kind(s32, None, "an integer"),
    **dict.fromkeys("aAeEfFgG", _FLOAT),
    "p": _POINTER,
    "s": _STRING,
}


def printf(format: str, *values: object) -> None:  # noqa: A002  C's name
    r"""Print from every thread that executes it, as C's `printf` does: `ptx.printf("%d: %f\n", tid, x)`.

    `values` are registers, numbers, and for `%s` Python strings. `%d %u %x` take integers of up to 32 bits, and with
    `ll` of up to 64; `%f %e %g` floats of 16, 32 and 64 bits; `%c` an integer; `%p` an address; `%%` is a percent sign.
    Raise OperandError for a value that its directive does not take.

    Emits, inside braces, `mov`, `cvta.global` and `st.param` for the format, `mov`, `cvta.local` and `st.param` for the
    buffer, and `call vprintf`: 7 instructions; 5 without values. Each value adds `st.local`. An integer narrower than
    its directive adds a `cvt`, a 32-bit float one, a 16-bit float two. A string adds a `mov` and a `cvta`, a special
    register a `mov`. Buffer, format and `vprintf` are declared. The driver keeps 1 MiB of output until the next
    synchronization; beyond that, it drops the oldest output. Programming guide: "Formatted Output".
    """
    trace = active("ptx.printf")
    fields = _fields(format, values)
    number = cast("int", trace.notes.get(_CALLS, 0))
    trace.notes[_CALLS] = number + 1
    if not trace.has_symbol("vprintf"):
        _declare_vprintf(trace)
    with trace.scope():
        arguments: object = 0
        if fields:
            buffer = f"printf_values_{number}"
            offsets, size = _places([dtype for dtype, _ in fields])
            trace.append(_variable("local", "b8", buffer, size, 8))
            for offset, (dtype, value) in zip(offsets, fields, strict=True):
                _store(trace, AddressOperand(Symbol(buffer), offset or None), dtype, value)
            arguments = _generic(trace, "local", buffer)
        _call(trace, number, _generic(trace, "global", _string(trace, format)), arguments)


def _fields(format: str, values: Sequence[object]) -> list[tuple[PtxType, object]]:  # noqa: A002  as above
    """Return the buffer type and value of each printf directive; raise OperandError if a value does not match."""
    if not isinstance(cast("object", format), str):
        raise OperandError("ptx.printf needs a format string as first argument", help='write ptx.printf("%d\\n", x)')
    if "\0" in format:
        raise OperandError("the format of ptx.printf contains a NUL character, which ends it", help="remove it")
    found = [match for match in _DIRECTIVE.finditer(format) if match["kind"] != "%"]
    for match in found:
        if match["kind"] not in _KINDS or match["length"] == "L":
            raise OperandError(
                f"ptx.printf: {match[0]!r} is not a directive of CUDA's printf",
                help=f"use one of %{' %'.join(_KINDS)}, or %%",
            )
    if len(found) != len(values) or len(found) > _MOST_VALUES:
        from pyptx_ir.isa.modules.counting import counted

        most = f"; the maximum is {_MOST_VALUES}" if len(found) > _MOST_VALUES else ""
        raise OperandError(
            f"ptx.printf: the format has {counted(len(found), 'directive')}, got {counted(len(values), 'value')}{most}",
            help=f"directives of the format: {' '.join(match[0] for match in found) or 'none'}",
        )
    return [(_type_for(match, value), value) for match, value in zip(found, values, strict=True)]


def _type_for(match: re.Match[str], value: object) -> PtxType:
    """Return the buffer type of a printf directive's value; raise OperandError for an unsupported value."""
    kind = _KINDS[match["kind"]]
    dtype = kind.wide if match["length"] in _WIDE else kind.narrow
    if dtype is None or not _takes(kind, dtype, value):
        raise OperandError(f"ptx.printf: {match[0]} needs {kind.shown}, got {_shown(value)}", help=_meant(value))
    return dtype


def _takes(kind: Kind, dtype: PtxType, value: object) -> bool:
    if isinstance(value, str):
        return kind is _STRING
    if not isinstance(value, Handle):
        return (as_float(value) if kind is _FLOAT else as_integer(value)) is not None and kind is not _STRING
    if kind is _FLOAT:
        return value.dtype.name in {"f16", "bf16", "f32", "f64"}
    exact = dtype.bits == _BITS and kind not in {_SIGNED, _UNSIGNED}
    return value.dtype.is_integer and (value.dtype.bits == dtype.bits if exact else value.dtype.bits <= dtype.bits)


def _shown(value: object) -> str:
    return f"the {value.dtype} register {value.raw_name}" if isinstance(value, Handle) else repr(value)


def _meant(value: object) -> str:
    """Return a hint that names the printf directive for a value."""
    if not isinstance(value, Handle):
        return "use %s for strings, %f for floats, %d for integers"
    if value.dtype.kind == "pred":
        return "select a number, ptx.selp(u32, d, 1, 0, p), and print it with %u"
    if value.dtype.is_float:
        return f"print {value.dtype} with %f, %e or %g"
    if not value.dtype.is_integer:
        return "unpack the register with ptx.mov, and print the elements"
    letter = "d" if value.dtype.kind == "signed" else "u"
    return f"print {value.dtype} with %{'ll' if value.dtype.bits == _BITS else ''}{letter}"


def _places(types: Sequence[PtxType]) -> tuple[list[int], int]:
    """Return the offset of each value in the argument buffer of `vprintf`, and the buffer's size, in bytes."""
    offsets, end = list[int](), 0
    for dtype in types:
        size = dtype.bits // 8
        offsets.append(-(-end // size) * size)
        end = offsets[-1] + size
    return offsets, -(-end // 8) * 8


def _store(trace: Trace, place: AddressOperand, dtype: PtxType, value: object) -> None:
    if isinstance(value, str):
        source: object = _generic(trace, "global", _string(trace, value))
    elif isinstance(value, Handle):
        source = _widened(trace, dtype, staged(value))
    else:
        source = float(cast("float", as_float(value))) if dtype is f64 else as_integer(value)
    word = "f64" if dtype is f64 else f"b{dtype.bits}"
    trace.emit(("st", "local", word), (place, source))


def _widened(trace: Trace, dtype: PtxType, value: Handle) -> Handle:
    """Return a register of type `dtype` with the value, which a `cvt` widens by its own signedness if narrower."""
    if value.dtype.bits == dtype.bits:
        return value
    if value.dtype.name in {"f16", "bf16"}:
        single = trace.fresh(f32)
        trace.emit(("cvt", "f32", value.dtype.name), (single, value))
        value = single
    signed = value.dtype.kind == "signed"
    to = (
        f64
        if dtype is f64
        else {(32, True): s32, (32, False): u32, (64, True): s64, (64, False): u64}[dtype.bits, signed]
    )
    of = value.dtype.name if dtype is f64 else f"{'s' if signed else 'u'}{value.dtype.bits}"
    result = trace.fresh(to)
    trace.emit(("cvt", to.name, of), (result, value))
    return result


def _generic(trace: Trace, space: str, name: str) -> Handle:
    address, generic = trace.fresh(u64), trace.fresh(u64)
    trace.emit(("mov", "u64"), (address, Symbol(name)))
    trace.emit(("cvta", space, "u64"), (generic, address))
    return generic


def _string(trace: Trace, text: str) -> str:
    """Return the name of the global variable that contains a text; declare one for each different text."""
    known = cast("dict[str, str]", trace.notes.setdefault(_STRINGS, dict[str, str]()))
    if text not in known:
        name = trace.fresh_symbol("printf_text", "global")
        data = (*text.encode(), 0)
        bytes_ = Vector(tuple([Immediate(str(byte)) for byte in data]))
        trace.globals.append(_variable("global", "b8", name, len(data), 1, bytes_))
        known[text] = name
    return known[text]


def _call(trace: Trace, number: int, text: object, values: object) -> None:
    names = [f"printf_{what}_{number}" for what in ("format", "arguments", "status")]
    for name, word in zip(names, ("b64", "b64", "b32"), strict=True):
        trace.append(nodes.Variable(space="param", type=word, declarators=(nodes.Declarator(name),), leading_trivia=""))
    for name, value in zip(names, (text, values), strict=False):
        trace.emit(("st", "param", "b64"), (AddressOperand(Symbol(name)), value))
    format_name, values_name, status = map(Symbol, names)
    trace.emit(("call", "uni"), ((status,), Symbol("vprintf"), (format_name, values_name)))


def _declare_vprintf(trace: Trace) -> None:
    trace.claim_symbol("vprintf", "func")
    parameters = (nodes.Parameter("b64", "format"), nodes.Parameter("b64", "arguments"))
    returns = (nodes.Parameter("b32", "status"),)
    declaration = nodes.Function("func", "vprintf", parameters, returns, linking="extern", leading_trivia="\n")
    trace.globals.append(declaration)


def _variable(space: str, word: str, name: str, size: int, align: int, value: Vector | None = None) -> nodes.Variable:
    declarator = nodes.Declarator(name, (Immediate(str(size)),), value)
    return nodes.Variable(space=space, type=word, declarators=(declarator,), alignment=align, leading_trivia="\n")
