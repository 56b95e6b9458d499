"""Machine code of the Blackwell kernels: every PTX operation is present, and MMA loops have no extra instructions.

The tests cover the Blackwell rows of tools/kernel_resources, so a kernel is tested as soon as it has a row: a third of
them by default, all with `PYPTX_KERNELS=all`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from tools.kernel_resources import ROWS, Row
from tools.sass_loops import instructions, loop_of, main_loop
from tools.shares import share

from pyptx_ir.toolchain import assemble, disassemble

pytestmark = [pytest.mark.scaled, pytest.mark.ptxas, pytest.mark.no_cover, pytest.mark.hopper, pytest.mark.blackwell]

BLACKWELL = [row for row in ROWS if row.example.startswith("blackwell/")]

# PTX instruction (pattern), and the SASS instruction that ptxas generates for it.
DONE_BY = {
    r"tcgen05\.mma\.": r"UTC[A-Z]*MMA",
    r"tcgen05\.ld\.": r"LDTM",
    r"tcgen05\.st\.": r"STTM",
    r"tcgen05\.cp\.": r"UTCCP",
    r"tcgen05\.commit\.": r"UTCBAR",
    r"tcgen05\.alloc\.": r"UTCATOMSWS",
    r"mma\.sync\.": r"[A-TV-Z]MMA\.",
    r"ldmatrix\.": r"LDSM",
    r"stmatrix\.": r"STSM",
    r"setmaxnreg\.": r"USETMAXREG",
    r"cp\.async\.bulk\.tensor\.\w+\.shared::\w+\.global": r"UTMALDG",
    r"cp\.async\.bulk\.tensor\.\w+\.global\.shared::cta": r"UTMASTG",
    r"mbarrier\.try_wait\.": r"SYNCS\.PHASECHK",
    r"clusterlaunchcontrol\.try_cancel\.": r"UGETNEXTWORKID",
}
PRODUCTS = re.compile(DONE_BY[r"tcgen05\.mma\."])
LOCAL = re.compile(r"(LDL|STL)(\.|$)")
GENERIC = re.compile(r"(LD|ST|ATOM)(\.|$)")  # generic accesses, for which ptxas could not infer the state space
# Instructions that the loop of the MMA-issuing thread must not contain: memory accesses with registers, CTA barriers,
# calls.
ELSEWHERE = re.compile(r"(LD|LDG|LDL|LDS|LDSM|LDGSTS|ST|STG|STL|STS|STSM|ATOM\w*|RED\w*|MEMBAR|BAR|CALL)(\.|$)")


@dataclass(frozen=True, slots=True)
class Code:
    """PTX of a kernel, and the kernel's SASS as printed by nvdisasm."""

    ptx: str
    sass: str

    def asks_for(self, words: str) -> bool:
        """Return whether the PTX has an instruction that starts with `words` (a pattern)."""
        return re.search(rf"(?m)^\s*(@!?%\w+ )?{words}", self.ptx) is not None

    @property
    def opcodes(self) -> list[str]:
        """Opcodes of the kernel's SASS."""
        return [each.opcode for each in instructions(self.sass)]


@pytest.fixture(
    scope="module", params=share(BLACKWELL, 3), ids=lambda row: f"{row.example}, {row.kernel}, {row.specialization}"
)
def code(request: pytest.FixtureRequest) -> Code:
    """Return PTX and SASS of the kernel of a row of tools/kernel_resources."""
    row: Row = request.param
    special = row.specialize()
    return Code(special.text, disassemble(assemble(special.text, special.target).cubin))


def test_the_machine_does_what_the_ptx_asks_for(code: Code) -> None:
    asked = {wanted: code.asks_for(wanted) for wanted in DONE_BY}
    found = {wanted: any(re.match(by, opcode) for opcode in code.opcodes) for wanted, by in DONE_BY.items()}
    assert found == asked


def test_nothing_lies_in_local_memory_and_the_main_loop_knows_where_everything_lies(code: Code) -> None:
    assert [opcode for opcode in code.opcodes if LOCAL.match(opcode)] == []
    loop = main_loop(code.sass)
    assert loop is None or [opcode for opcode in loop.opcodes if GENERIC.match(opcode)] == []


def test_where_it_multiplies_nobody_touches_memory_or_waits_for_everybody(code: Code) -> None:
    loop = loop_of(code.sass, PRODUCTS)
    assert (loop is not None) == code.asks_for(r"tcgen05\.mma\.")
    if loop is not None:
        assert [opcode for opcode in loop.opcodes if ELSEWHERE.match(opcode)] == []
        assert any(opcode.startswith("SYNCS.PHASECHK") for opcode in loop.opcodes)
        assert any(opcode.startswith("UTCBAR") for opcode in loop.opcodes)
