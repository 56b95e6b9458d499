"""Errors and warnings of pyptx-dsl.

    PyptxError
    └── DslError                    located at the user's line, with the source and a caret
        ├── TraceError              while the body of a kernel runs
        │   ├── NoTraceError        reg, smem or ptx used outside a kernel
        │   ├── ForeignRegisterError a register used outside the trace that made it (also RuntimeError)
        │   ├── HiddenRegisterError a register used where its name is not declared or means another one
        │   ├── TruthValueError     `if reg:` (also TypeError)
        │   ├── UndefinedNameError  a name of CUDA, Triton or C that Python does not define (also NameError)
        │   ├── RegisterTypeError   an operator or instruction not defined for this register type (also TypeError)
        │   ├── OperandError        an invalid operand, or an immediate out of range (also TypeError)
        │   ├── CallError           wrong arguments to a function of ptx, reg or smem (also TypeError)
        │   ├── RewrittenOffsetError an offset register written while a loop may read its 64-bit form again
        │   ├── DuplicateNameError  a register, label, variable or parameter declared twice
        │   ├── UndefinedLabelError a branch to an undefined label
        │   ├── RegisterIndexError  an index outside a register array or shared allocation (also IndexError)
        │   ├── SelfTraceError      a kernel whose body requests its own PTX or calls it
        │   ├── SpellingError       source text that does not parse as the statement that it is given for
        │   ├── ReturnedValueError  a kernel whose function returns a value (also TypeError)
        │   ├── InstructionUseError an instruction of the table with wrong modifiers or operands
        │   ├── DirectiveError      a declaration or a directive that ptxas rejects in every context
        │   └── AllocationError     an invalid allocation, or one that exceeds the target's capacity
        │       └── SharedMemoryError   of shared memory
        ├── KernelError             wrong use of the decorator or of the kernel object
        │   ├── UnknownTypeError    no such PTX type (also ValueError)
        │   ├── ArchError           no such target, or none detected
        │   ├── LaunchError         grid, block, cluster, reqntid out of range (also ValueError)
        │   ├── SpecError           an invalid Tile, Layout or raw parameter (also ValueError)
        │   ├── SignatureError      specs or grid function do not match the kernel's signature
        │   ├── KeywordError        unknown or misused keyword (also TypeError)
        │   ├── UnboundDimensionsError  `.ptx()` before its symbolic dimensions are known
        │   ├── KernelFileError     no such kernel in a file or module, or one that cannot be run
        │   └── RuntimeMissingError no installed runtime accepts these arguments
        ├── ContractError           arrays that do not match their Tile; the message names the argument
        │   ├── ArgumentCountError  (also TypeError)
        │   ├── ForeignArrayError   not an array, or of another framework than the others (also TypeError)
        │   ├── RankError, ShapeError (also ValueError)
        │   ├── DtypeError          (also TypeError)
        │   ├── LayoutError         strides that do not match the layout (also ValueError)
        │   ├── AlignmentError      (also ValueError)
        │   └── DeviceError         arrays on several devices (also ValueError)
        ├── GradientError           a gradient that is not defined, or that would be lost (also RuntimeError)
        ├── AssemblyFailed          ptxas rejected the PTX; located at the Python line of its first error
        └── BundleError             ahead-of-time compilation: a damaged bundle, or one that cannot be made

Warnings: `EmptyKernelWarning` (a body that emits nothing), `ConstantConditionWarning` (`u32 >= 0`) and `PtxasAdvisory`
(advice of ptxas about a line). `DslError` adds the location: the innermost frame outside this project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.origin import locate, user_frame
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Sequence


class DslError(PyptxError):
    """Base class of errors of pyptx-dsl: finds the user's line on the stack unless `where` is given."""

    def __init__(self, message: str, *, where: str | None = None, help: str | None = None) -> None:
        """Store `message`, the user's source line, and `help`."""
        super().__init__(message, where=where if where is not None else locate(user_frame()), help=help)


def point_at_call(error: PyptxError) -> None:
    """Add the user's current line to an error without a location, such as a runtime's error about arguments."""
    if error.where is None:
        PyptxError.__init__(error, error.message, where=locate(user_frame()), help=error.help)


class TraceError(DslError):
    """Error raised while a kernel body is traced."""


class NoTraceError(TraceError, RuntimeError):
    """`reg`, `smem` or `ptx` used while no kernel is being traced."""

    def __init__(self, what: str = "this call") -> None:
        """Report that `what` must be called in the body of a kernel."""
        super().__init__(
            f"no kernel is being traced here: {what} emits PTX",
            help="emit PTX in a function decorated with @kernel and call the kernel's .ptx(), or in a function of "
            "a module()",
        )


class ForeignRegisterError(TraceError, RuntimeError):
    """A register used in a trace other than the trace that declared it."""

    def __init__(self, register: str, owner: str, here: str | None) -> None:
        """Report the register, its kernel, and the kernel being traced."""
        now = f"kernel {here!r} is being traced" if here else "no kernel is being traced"
        super().__init__(
            f"register {register} belongs to the trace of kernel {owner!r}, but {now}",
            help="a register is valid in one trace only; declare a new register in this kernel's body",
        )


class HiddenRegisterError(TraceError):
    """A register used after the `}` of its scope, or in a scope that declares another register of its name."""


class TruthValueError(TraceError, TypeError):
    """A register used as a Python truth value while tracing."""

    def __init__(self, register: str, help: str | None = None, where: str | None = None) -> None:
        """Report that the register's value is known on the GPU only."""
        super().__init__(
            f"register {register} has no truth value while tracing: `if`, `and`, `or`, `not`, `while` and chained "
            "comparisons decide in Python, before the kernel runs",
            where=where,
            help=help or "branch with `with ptx.if_(condition):`, combine predicates with & | ~, select with ptx.selp",
        )
        self.register = register


class RegisterTypeError(TraceError, TypeError):
    """An operator or instruction that is not defined for the register's type."""


class OperandError(TraceError, TypeError):
    """A Python value that is not a valid operand of an instruction."""


class CallError(TraceError, TypeError):
    """A function called with wrong arguments or in the wrong syntax (call, `with`, `for`), or not called at all."""


class RewrittenOffsetError(TraceError):
    """An offset register written by an instruction although a loop may read the register's 64-bit copy again."""


class DuplicateNameError(TraceError):
    """A PTX name declared twice in one scope."""


class UndefinedLabelError(TraceError):
    """A branch to a label that the body does not define."""


class RegisterIndexError(TraceError, IndexError):
    """An index outside a register array or a shared allocation."""


class SelfTraceError(TraceError):
    """A kernel whose body requests its own PTX or calls it."""


class ReturnedValueError(TraceError, TypeError):
    """A kernel whose function returns a value; no caller would receive it."""


class InstructionUseError(TraceError):
    """A known instruction with invalid modifiers or operands."""


class DirectiveError(TraceError):
    """A declaration or a directive that ptxas rejects in every context."""


class AllocationError(TraceError):
    """An invalid or too large allocation in a memory of the CTA."""


class SharedMemoryError(AllocationError):
    """An invalid or too large allocation in shared memory."""


class KernelError(DslError):
    """Wrong use of the decorator or of the kernel object."""


class UnknownTypeError(KernelError, ValueError):
    """A text that is not the name of a PTX type."""

    def __init__(self, name: str, known: Sequence[str], help: str | None = None) -> None:
        """Store the message with `help`, or with the names in `known` that are nearest to `name`."""
        super().__init__(f"unknown PTX type {name!r}", help=help or close(name, known))


class ArchError(KernelError):
    """An unknown target, or no GPU whose target can be detected."""


class LaunchError(KernelError, ValueError):
    """Launch dimensions out of range."""


class SpecError(KernelError, ValueError):
    """An invalid Tile, Layout or `raw_params` entry."""


class SignatureError(KernelError, TypeError):
    """Specs that do not match the function's signature, or a grid function with unknown parameter names."""


class KeywordError(KernelError, TypeError):
    """An unknown keyword, or a keyword with an invalid value."""


class UnboundDimensionsError(KernelError):
    """Named dimensions without a size. `sizes`: all dimensions of the kernel as keywords, `…` for unknown sizes."""

    sizes: str = ""


class RuntimeMissingError(KernelError):
    """No installed runtime accepts the arguments of a call."""


class ContractError(DslError):
    """Arrays that do not match their Tile."""


class ArgumentCountError(ContractError, TypeError):
    """A call or a backward kernel with too few or too many arrays."""


class ForeignArrayError(ContractError, TypeError):
    """An argument that is not an array, or belongs to another framework than the other arguments."""


class RankError(ContractError, ValueError):
    """An array of the wrong number of dimensions."""


class ShapeError(ContractError, ValueError):
    """An array dimension of the wrong size, or two sizes of one named dimension."""


class DtypeError(ContractError, TypeError):
    """An array of the wrong element type."""


class LayoutError(ContractError, ValueError):
    """An array whose strides do not match its layout."""


class AlignmentError(ContractError, ValueError):
    """An array whose address is not aligned as its Tile requires."""


class DeviceError(ContractError, ValueError):
    """Arrays of one call on different devices."""


class GradientError(DslError, RuntimeError):
    """A gradient requested from a kernel that is not differentiable, or a gradient that the call would lose."""


class AssemblyFailed(DslError):  # noqa: N818  named like ptxas's own word for it
    """ptxas rejected the PTX of a kernel."""


class BundleError(DslError):
    """A bundle that is damaged or inconsistent, or a kernel that cannot be exported."""


class KernelFileError(KernelError):
    """A file or module that cannot be run, or without the kernel that its name, such as `FILE.py:KERNEL`, requests."""

    def __init__(self, message: str, *, where: str = "", help: str | None = None) -> None:
        """Store the message, and the line of the file at which its run failed; commands have no line of the user."""
        super().__init__(message, where=where, help=help)


class EmptyKernelWarning(UserWarning):
    """A kernel whose body emits no instruction."""


class UnknownInstructionWarning(UserWarning):
    """An instruction that is not in the instruction table and therefore was not checked."""


class PtxasAdvisory(UserWarning):
    """Advice of ptxas about one line of a kernel."""


def close(name: str, known: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return a help text with the names of `known` and `others` nearest to `name`; all of `known` if none is near."""
    from difflib import get_close_matches

    spelt = {each.lower(): each for each in (*others, *reversed(known))}
    near = get_close_matches(name.lower(), spelt, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(spelt[each] for each in near) + "?"
    return "known: " + ", ".join(known) if known else "no names are defined"


class ControlFlowError(TraceError):
    """Blocks, loops and branches that do not nest correctly."""


class SpellingError(TraceError):
    """Source text of a statement that does not parse, or parses as a different statement."""


class RawTextError(TraceError):
    """Text passed to `ptx.raw` that is not a list of PTX statements."""


class MissingNamespaceError(DslError, AttributeError):
    """A namespace of `ptx` whose package is not installed."""


class UndefinedNameError(TraceError, NameError):
    """A name of CUDA, Triton or C in the body of a kernel, undefined in Python."""


class ConstantConditionWarning(UserWarning):
    """A comparison of unsigned numbers that is always true or always false."""


class UnknownNameError(DslError, AttributeError):
    """A name that `ptx` does not define."""
