"""`docs/findings.md` explains every rule of the simulator, each with an example that has this finding and no other."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pyptx_ir.plugins.rows import Output, TensorMap
from pyptx_sim import Mapped, Uninitialised, run
from pyptx_sim.extension import extensions, rules

from .pages import ROOT

PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"(?ms)^### `([\w-]+)`\n(.*?)(?=^##|\Z)", PAGE))
AROUND = """\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .align 64 .b8 m[128], .param .u64 edited) .maxnreg 128
{
.reg .pred %p<4>;
.reg .b32 %r<30>;
.reg .b64 %rd<20>;
.reg .f32 %f<8>;
.reg .b128 %q<2>;
.shared .align 1024 .b8 s[4096];
.shared .align 128 .b8 factors[8192];
.shared .align 8 .b64 bar[2];
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
mov.b64 %rd3, m;
cvta.param.u64 %rd3, %rd3;
ld.param.u64 %rd6, [edited];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd7, %r1, 4;
add.s64 %rd4, %rd1, %rd7;
add.s64 %rd5, %rd2, %rd7;
mov.u32 %r3, s;
mad.lo.u32 %r4, %r1, 4, %r3;
sub.u32 %r8, 127, %r1;
mad.lo.u32 %r7, %r8, 4, %r3;
setp.eq.u32 %p0, %r1, 0;
"""
# Factors of 64 x 16 and 8 x 16, without a swizzle: 128 bytes from core matrix to core matrix in K, 256 in M and N.
FACTORS = """\
mov.u32 %r9, factors;
mad.lo.u32 %r10, %r1, 32, %r9;
mov.u32 %r11, 0;
st.shared.v4.u32 [%r10], {%r11, %r11, %r11, %r11};
st.shared.v4.u32 [%r10+16], {%r11, %r11, %r11, %r11};
fence.proxy.async.shared::cta;
bar.sync 0;
bfe.u32 %r9, %r9, 4, 14;
cvt.u64.u32 %rd10, %r9;
or.b64 %rd10, %rd10, 0x0000001000080000;
add.u64 %rd11, %rd10, 128;
"""
# Of tensor memory: a product of 64 x 16, an mbarrier and another one, columns that warp 0 gives back at the end.
TENSORS = """\
.shared .align 4 .b32 columns;
mov.u32 %r22, bar;
@%p0 mbarrier.init.shared::cta.b64 [bar], 1;
@%p0 mbarrier.init.shared::cta.b64 [bar+8], 1;
@%p0 fence.mbarrier_init.release.cluster;
mov.u32 %r9, factors;
mad.lo.u32 %r10, %r1, 64, %r9;
mov.u32 %r11, 0;
st.shared.v4.u32 [%r10], {%r11, %r11, %r11, %r11};
st.shared.v4.u32 [%r10+16], {%r11, %r11, %r11, %r11};
st.shared.v4.u32 [%r10+32], {%r11, %r11, %r11, %r11};
st.shared.v4.u32 [%r10+48], {%r11, %r11, %r11, %r11};
fence.proxy.async.shared::cta;
bar.sync 0;
shr.u32 %r9, %r9, 4;
cvt.u64.u32 %rd10, %r9;
or.b64 %rd10, %rd10, 0x0000401000080000;
add.u64 %rd11, %rd10, 256;
mov.u32 %r21, 0x04040490;
setp.lt.u32 %p1, %r1, 32;
@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 64;
bar.sync 0;
ld.shared.u32 %r20, [columns];
and.b32 %r10, %r1, 96;
shl.b32 %r10, %r10, 16;
add.u32 %r23, %r20, %r10;
"""
FREED = """\
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64;
"""
# What nobody has waited for is under way, too, when the columns are given back.
ALSO = {f"unfinished-tcgen05{which}": {"tmem-use-after-free"} for which in ("", "-st", "-ld")}


def around(example: str) -> str:
    """Return the kernel of an example."""
    newer = "tcgen05" in example or "clusterlaunchcontrol" in example
    text = AROUND.replace("sm_90a", "sm_100a").replace("8.6", "8.8") if newer else AROUND
    text += TENSORS * newer + FACTORS * ("%rd10" in example and not newer) + example
    return text + FREED * (newer and "%r20, 64;" not in example) + "ret;\n}\n"


def test_every_rule_has_its_section_and_no_other_has() -> None:
    assert SECTIONS.keys() == {
        rule.name for name in ("sim", "hopper", "blackwell") for rule in extensions()[name].rules
    }


@pytest.mark.hopper
@pytest.mark.blackwell
@pytest.mark.parametrize("rule", SECTIONS)
def test_the_example_of_a_rule_has_its_finding_and_no_other(rule: str) -> None:
    (example,) = re.findall(r"(?s)```ptx\n(.*?)```", SECTIONS[rule])
    text = around(example)
    (marked,) = [i for i, line in enumerate(text.splitlines(), 1) if "// !" in line]
    a, b = np.arange(1, 257, dtype=np.uint32), np.zeros(256, np.uint32)
    described = Mapped(a, TensorMap("u32", (16, 16), (64, 4), (8, 8), (1, 1)))
    blocks = 2 if "cluster.arrive" in example else 1
    # Whoever allocates an output wants all of it; the other examples write what they please.
    written = Uninitialised(b, Output("b", b.shape, "u32", (1,))) if rule == "unwritten-output" else b
    read = a.view(np.float16) if rule == "element-type" else a
    found = run(text, grid=blocks, cluster=blocks, block=128, args=[read, written, described, described]).findings
    assert {finding.rule for finding in found} == {rule, *ALSO.get(rule, ())}, [str(finding) for finding in found]
    found = tuple(finding for finding in found if finding.rule == rule)
    assert marked in {line for finding in found for line in (finding.line, finding.other_line)}
    assert all(finding.help for finding in found)
    first = SECTIONS[rule].strip().partition(".")[0].lower()
    severity = first if first in {"warning", "note"} else "error"
    assert {finding.severity for finding in found} == {rules()[rule].severity} == {severity}
