"""The errors of pyptx-dsl.

    PyptxError
    └── DslError                    located at the user's line, with the source and a caret
        ├── TraceError              while the body of a kernel runs
        │   ├── NoTraceError        reg, smem, ptx outside a kernel
        │   ├── ForeignRegisterError a register used outside the trace that made it (also RuntimeError)
        │   ├── HiddenRegisterError a register used where another of its name is meant, or none
        │   ├── TruthValueError     `if reg:` (also TypeError)
        │   ├── UndefinedNameError  a name of CUDA or Triton that Python does not know (also NameError)
        │   ├── RegisterTypeError   an operator or instruction that this type of register has not (also TypeError)
        │   ├── OperandError        a value that is no operand, or an immediate that does not fit (also TypeError)
        │   ├── CallError           a function of ptx, reg or smem with arguments that it has not (also TypeError)
        │   ├── RewrittenOffsetError an offset rewritten behind its 64-bit form
        │   ├── DuplicateNameError  a register, label, variable or parameter named twice
        │   ├── UndefinedLabelError a branch to a label that nothing defines
        │   ├── RegisterIndexError  outside a register array or shared allocation (also IndexError)
        │   ├── SelfTraceError      a kernel whose body asks for its own text
        │   ├── SpellingError       a spelling that does not read as the statement that it is given for
        │   ├── ReturnedValueError  a kernel whose function returns a value (also TypeError)
        │   ├── InstructionUseError the table knows the instruction, and it is used wrongly
        │   ├── DirectiveError      a declaration or a directive that ptxas refuses wherever it stands
        │   └── AllocationError     an allocation that is malformed, or more than the target has
        │       └── SharedMemoryError   of shared memory
        ├── KernelError             the decorator, or how the kernel is asked for
        │   ├── UnknownTypeError    no such PTX type (also ValueError)
        │   ├── ArchError           no such target, or none detected
        │   ├── LaunchError         grid, block, cluster, reqntid out of range (also ValueError)
        │   ├── SpecError           a Tile, Layout or raw parameter that makes no sense (also ValueError)
        │   ├── SignatureError      specs and signature, or the grid's, disagree
        │   ├── KeywordError        unknown or misused keyword (also TypeError)
        │   ├── UnboundDimensionsError  `.ptx()` before its symbolic dimensions are known
        │   └── RuntimeMissingError nothing installed runs these arguments
        ├── ContractError           arrays that break a Tile's promise; the message names the argument
        │   ├── ArgumentCountError  (also TypeError)
        │   ├── ForeignArrayError   no array, or of another framework than the others (also TypeError)
        │   ├── RankError, ShapeError (also ValueError)
        │   ├── DtypeError          (also TypeError)
        │   ├── LayoutError         strides other than the layout says (also ValueError)
        │   ├── AlignmentError      (also ValueError)
        │   └── DeviceError         arrays on several devices (also ValueError)
        ├── GradientError           a gradient that nothing computes, or that would be lost (also RuntimeError)
        ├── AssemblyFailed          ptxas refused the text; the first line that it names, in Python
        └── BundleError             kernels compiled ahead of time: a bundle that is damaged, or can't be made

Warnings: `EmptyKernelWarning` (a body that emits nothing), `ConstantConditionWarning` (`u32 >= 0`) and `PtxasAdvisory`
(what ptxas has to say about a line).
The location is added here and nowhere else: `DslError` looks for the innermost frame outside this project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_dsl.origin import locate, user_frame
from pyptx_ir.errors import PyptxError

if TYPE_CHECKING:
    from collections.abc import Sequence


class DslError(PyptxError):
    """Base: finds the user's line by itself unless `where` says otherwise."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        """Compose `message`, the located source line, and `hint`."""
        super().__init__(message, where=where if where is not None else locate(user_frame()), hint=hint)


def point_at_call(error: PyptxError) -> None:
    """Give an error that knows no place, such as a runtime's about its arguments, the user's line that is running."""
    if error.where is None:
        PyptxError.__init__(error, error.message, where=locate(user_frame()), hint=error.hint)


class TraceError(DslError):
    """Something in the body of a kernel."""


class NoTraceError(TraceError, RuntimeError):
    """`reg`, `smem` or `ptx` used while no kernel is being traced."""

    def __init__(self, what: str = "this call") -> None:
        """Say that `what` belongs into the body of a kernel."""
        super().__init__(
            f"no kernel is being traced here: {what} emits PTX",
            hint="call it in a function decorated with @kernel, and ask that for .ptx(), or in one of a module()",
        )


class ForeignRegisterError(TraceError, RuntimeError):
    """A register used in a trace that did not make it."""

    def __init__(self, register: str, owner: str, here: str | None) -> None:
        """Name the register, the kernel that it belongs to, and the kernel being traced."""
        now = f"kernel {here!r} is being traced" if here else "no kernel is being traced"
        super().__init__(
            f"register {register} belongs to the trace of kernel {owner!r}, but {now}",
            hint="registers live for one trace only; make a new one inside this kernel's body",
        )


class HiddenRegisterError(TraceError):
    """A register used behind the `}` of its scope, or in a scope that declares another of its name."""


class TruthValueError(TraceError, TypeError):
    """A register asked for its truth value while tracing."""

    def __init__(self, register: str, hint: str | None = None, where: str | None = None) -> None:
        """Explain that the value is known on the GPU only."""
        super().__init__(
            f"register {register} has no truth value while tracing: `if`, `and`, `or`, `not`, `while` and chained "
            "comparisons decide in Python, before the kernel runs",
            where=where,
            hint=hint or "branch with `with ptx.if_(condition):`, combine predicates with & | ~, select with ptx.selp",
        )
        self.register = register


class RegisterTypeError(TraceError, TypeError):
    """An operator or instruction on a type that has it not."""


class OperandError(TraceError, TypeError):
    """A value that cannot stand as an operand."""


class CallError(TraceError, TypeError):
    """A function called with arguments that it does not take, written as another kind of call, or not called at all."""


class RewrittenOffsetError(TraceError):
    """An offset register written by an instruction although a loop may read its 64-bit form again."""


class DuplicateNameError(TraceError):
    """A name given twice."""


class UndefinedLabelError(TraceError):
    """A branch to a label that nothing defines."""


class RegisterIndexError(TraceError, IndexError):
    """An index outside a register array or a shared allocation."""


class SelfTraceError(TraceError):
    """A kernel asked for its text, or called, by its own body."""


class ReturnedValueError(TraceError, TypeError):
    """A kernel whose function returns a value, which nobody would get."""


class InstructionUseError(TraceError):
    """An instruction that the table knows, used wrongly."""


class DirectiveError(TraceError):
    """A declaration or a directive that ptxas refuses, whatever stands around it."""


class AllocationError(TraceError):
    """An allocation in a memory of the block that is malformed or too large."""


class SharedMemoryError(AllocationError):
    """A shared allocation that is malformed or too large."""


class KernelError(DslError):
    """A kernel declared or asked for wrongly."""


class UnknownTypeError(KernelError, ValueError):
    """A word that names no PTX type."""

    def __init__(self, name: str, known: Sequence[str], hint: str | None = None) -> None:
        """Offer `hint`, or the nearest known names."""
        super().__init__(f"unknown PTX type {name!r}", hint=hint or close(name, known))


class ArchError(KernelError):
    """An unknown target, or none detected."""


class LaunchError(KernelError, ValueError):
    """Launch dimensions out of range."""


class SpecError(KernelError, ValueError):
    """A Tile, Layout or raw parameter that makes no sense."""


class SignatureError(KernelError, TypeError):
    """Specs that disagree with the signature of the kernel's function, or a grid function that asks for other names."""


class KeywordError(KernelError, TypeError):
    """A keyword that the kernel has not, or a value that it cannot take."""


class UnboundDimensionsError(KernelError):
    """Symbolic dimensions without a value; `sizes` are all of the kernel's as keywords, where that is known."""

    sizes: str = ""


class RuntimeMissingError(KernelError):
    """No runtime claims the arguments of a call."""


class ContractError(DslError):
    """Arrays that break the promise of a Tile."""


class ArgumentCountError(ContractError, TypeError):
    """Too few or too many arrays."""


class ForeignArrayError(ContractError, TypeError):
    """An argument that is no array, or one of another framework than the others."""


class RankError(ContractError, ValueError):
    """An array of the wrong number of dimensions."""


class ShapeError(ContractError, ValueError):
    """A dimension of the wrong size, or two that must be equal and are not."""


class DtypeError(ContractError, TypeError):
    """An array of the wrong element type."""


class LayoutError(ContractError, ValueError):
    """An array whose strides are not those of its layout."""


class AlignmentError(ContractError, ValueError):
    """An array whose first byte is not aligned enough."""


class DeviceError(ContractError, ValueError):
    """Arrays of one call on different devices."""


class GradientError(DslError, RuntimeError):
    """A gradient was asked of a kernel that has none, or would be lost."""


class AssemblyFailed(DslError):  # noqa: N818  named like ptxas's own word for it
    """ptxas refused the text of a kernel."""


class BundleError(DslError):
    """A bundle that is damaged or untrue, or one that cannot be made."""


class EmptyKernelWarning(UserWarning):
    """A kernel whose body emits no instruction."""


class UnknownInstructionWarning(UserWarning):
    """An instruction that the instruction table does not know, and that nothing has checked."""


class PtxasAdvisory(UserWarning):
    """What ptxas advises about one line of a kernel."""


def close(name: str, known: Sequence[str], others: Sequence[str] = ()) -> str:
    """Return a hint with the names nearest to `name`, known ones and others, or all known ones if none is near."""
    from difflib import get_close_matches

    spelt = {each.lower(): each for each in (*others, *reversed(known))}
    near = get_close_matches(name.lower(), spelt, n=3, cutoff=0.5)
    if near:
        return "did you mean " + " or ".join(spelt[each] for each in near) + "?"
    return "known: " + ", ".join(known) if known else "it has none at all"


class ControlFlowError(TraceError):
    """Blocks, loops and branches that do not fit together."""


class SpellingError(TraceError):
    """A spelling that reads as another statement, or as none."""


class RawTextError(TraceError):
    """Text handed to `ptx.raw` that is no list of PTX statements."""


class MissingNamespaceError(DslError, AttributeError):
    """A namespace that belongs to a package which is not installed."""


class UndefinedNameError(TraceError, NameError):
    """A name of CUDA, Triton or C in the body of a kernel, which Python does not know."""


class ConstantConditionWarning(UserWarning):
    """A comparison of unsigned numbers that is always true, or never."""


class UnknownNameError(DslError, AttributeError):
    """A name that `ptx` has not."""
