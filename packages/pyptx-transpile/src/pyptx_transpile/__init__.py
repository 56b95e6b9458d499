"""Transpile PTX of any compiler to Python that emits byte-identical PTX.

from pyptx_transpile import ptx_to_python

print(ptx_to_python(source, sugar=True))
"""

from typing import TYPE_CHECKING

from pyptx_ir.front_door import late_names

if TYPE_CHECKING:
    from pyptx_transpile.errors import ProofError, RuleError
    from pyptx_transpile.planning.plan import Rewrite, RewritePlan, Slot
    from pyptx_transpile.printing.body_printer import BodyPrinter
    from pyptx_transpile.reading.rows import Body
    from pyptx_transpile.transpiler import RejectedRewrite, Transpiled, ptx_to_python, transpile
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "Body": "reading.rows",
            "BodyPrinter": "printing.body_printer",
            "Rewrite": "planning.plan",
            "RewritePlan": "planning.plan",
            "Slot": "planning.plan",
            "ProofError": "errors",
            "RuleError": "errors",
            "Transpiled": "transpiler",
            "RejectedRewrite": "transpiler",
            "ptx_to_python": "transpiler",
            "transpile": "transpiler",
        },
    )

__tracebackhide__ = True

__all__ = [
    "Body",
    "BodyPrinter",
    "ProofError",
    "RejectedRewrite",
    "Rewrite",
    "RewritePlan",
    "RuleError",
    "Slot",
    "Transpiled",
    "ptx_to_python",
    "transpile",
]
