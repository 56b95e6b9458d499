"""Pages of the rules of the simulator and of the error codes of `pyptx check`.

    python -m tools.rule_pages [NAME …]

The text of a rule is a Markdown file in its package, which `pyptx explain` prints. This tool runs the example under
`## Example`, writes its output below it, and copies all texts to `docs/rules`, with an index.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pyptx_ir.explanations import CHECK, explanations
from pyptx_ir.isa.modules.check import check_text
from pyptx_ir.isa.modules.diagnostic import shown
from pyptx_ir.plugins.rows import Output, TensorMap
from pyptx_ir.syntax import Source
from pyptx_sim import Uninitialized, WithDescriptor, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyptx_ir.isa.modules.diagnostic import Diagnostic
    from pyptx_ir.plugins.explanation_rows import Explanation
    from pyptx_sim.findings import Finding

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = ROOT / "docs" / "rules"
MARKER: Final = "Written by tools/rule_pages.py from the text in the package: edit that text."
_BLOCK: Final = re.compile(r"(?s)```(ptx|text)\n(.*?)```")

# Setup lines of the examples' PTX modules, as line 1 of the module, so that an example begins in line 2.
_KERNEL: Final = """\
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
.shared .align 128 .b8 operands[8192];
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
# Operands of wgmma, 64 x 16 and 8 x 16 of f16, no swizzle: 128 bytes between core matrices in K, 256 in M and N.
_WGMMA: Final = """\
mov.u32 %r9, operands;
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
# Tensor memory: 64 columns, operands of an MMA of 64 x 16, and two mbarriers.
_TCGEN05: Final = """\
.shared .align 4 .b32 columns;
mov.u32 %r22, bar;
@%p0 mbarrier.init.shared::cta.b64 [bar], 1;
@%p0 mbarrier.init.shared::cta.b64 [bar+8], 1;
@%p0 fence.mbarrier_init.release.cluster;
mov.u32 %r9, operands;
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
_DEALLOC: Final = """\
bar.sync 0;
@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64;
"""
_ENTRY: Final = (
    ".version 9.0 .target sm_90a .visible .entry k(.param .u64 p) { .reg .pred %p<4>; .reg .b32 %r<8>; "
    ".reg .b64 %rd<8>; .reg .f32 %f<8>;\n"
)


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a rule: its `Rule`, and the parts of its Markdown file."""

    row: Explanation
    text: str

    @property
    def example(self) -> str:
        """The PTX example with the fault, under `## Example` in the rule's Markdown file."""
        return self._blocks[0][1]

    @property
    def output(self) -> str:
        """The output of the example, as stored in the rule's Markdown file."""
        return self._blocks[1][1]

    @property
    def fixed(self) -> str:
        """The corrected PTX, without the fault."""
        return self._blocks[2][1]

    @property
    def _blocks(self) -> list[tuple[str, str]]:
        blocks = _BLOCK.findall(self.text)
        if [kind for kind, _ in blocks] != ["ptx", "text", "ptx"]:
            raise ValueError(f"{self.row.page}: an example, its output and the fixed example are needed, in this order")
        return blocks

    def with_output(self, output: str) -> str:
        """Return the Markdown text with `output` as the output of the example."""
        start = self.text.index("```text\n") + len("```text\n")
        end = self.text.index("```", start)
        return self.text[:start] + output + self.text[end:]


def pages() -> dict[str, Page]:
    """Return the pages of all rules and error codes of this repository, by name."""
    ours = ROOT / "packages"
    rows = (row for row in explanations().values() if row.page is not None and row.page.is_relative_to(ours))
    return {row.name: Page(row, row.page.read_text(encoding="utf-8")) for row in rows if row.page is not None}


def module(example: str) -> str:
    """Return the PTX module of a simulator rule's example; the setup is line 1."""
    tensors = "tcgen05" in example or "clusterlaunchcontrol" in example
    setup = _KERNEL.replace("sm_90a", "sm_100a").replace("8.6", "8.8") if tensors else _KERNEL
    setup += _TCGEN05 * tensors + _WGMMA * ("%rd10" in example and not tensors)
    end = _DEALLOC * (tensors and "%r20, 64;" not in example) + "ret;\n}\n"
    return f"{' '.join(setup.splitlines())}\n{example}{end}"


def findings(rule: str, example: str) -> tuple[Finding, ...]:
    """Return the findings of an example, which is launched as `docs/findings.md` describes."""
    a, b = np.arange(1, 257, dtype=np.uint32), np.zeros(256, np.uint32)
    described = WithDescriptor(a, TensorMap("u32", (16, 16), (64, 4), (8, 8), (1, 1)))
    ctas = 2 if "cluster.arrive" in example else 1
    # This rule needs an output that is allocated uninitialized; other examples write to a part of an input array.
    written = Uninitialized(b, Output("b", b.shape, "u32", (1,))) if rule == "unwritten-output" else b
    read = a.view(np.float16) if rule == "element-type" else a
    arguments = [read, written, described, described]
    return run(module(example), grid=ctas, cluster=ctas, block=128, args=arguments).findings


def checked_module(example: str) -> str:
    """Return the PTX module of a `pyptx check` example: the example, or a kernel body after a setup in line 1."""
    return example if example.startswith((".version", ".target")) else f"{_ENTRY}{example}ret;\n}}\n"


def diagnostics(example: str) -> list[Diagnostic]:
    """Return the diagnostics of an example of `pyptx check`."""
    return list(check_text(checked_module(example)))


def output(page: Page) -> str:
    """Return the output of an example, without findings of other rules."""
    if page.row.tool == CHECK:
        source = Source(checked_module(page.example), "example.ptx")
        return "".join(f"{shown(each, source)}\n" for each in diagnostics(page.example))
    return "".join(f"{each}\n" for each in findings(page.row.name, page.example) if each.rule == page.row.name)


def site(known: Mapping[str, Page]) -> dict[str, str]:
    """Return the pages of `docs/rules` by file name."""
    texts = {f"{name}.md": "\n".join(_site_page(page)) for name, page in known.items()}
    return {"index.md": "\n".join(_index(known)), **texts}


def _site_page(page: Page) -> Iterator[str]:
    row = page.row
    yield from (f"<!-- {MARKER} -->", "", f"# `{row.name}`", "")
    yield from (f"{row.severity.capitalize()} of {_TOOLS[row.tool]}: {row.summary}.", "", page.text.rstrip())
    setup = "[setup](../findings.md#setup-of-the-examples)"
    if row.tool != CHECK:
        yield from ("", f"Line numbers count the {setup} as line 1; the example begins in line 2.")
    elif not page.example.startswith((".version", ".target")):
        setup = "[setup](index.md#error-codes-of-pyptx-check)"
        yield from ("", f"Line numbers count the {setup} as line 1; the example begins in line 2.")
    yield ""


_TOOLS: Final = {CHECK: "[`pyptx check`](../checking.md)", "simulator": "the [simulator](../simulator.md)"}


def _index(known: Mapping[str, Page]) -> Iterator[str]:
    yield from (f"<!-- {MARKER} -->", "", "# Rules and error codes", "")
    yield "`pyptx explain NAME` prints the text of a rule or error code, including rules of installed plugins."
    for title, setup, families in _CHAPTERS:
        yield from ("", f"## {title}", "", setup)
        for family, names in families.items():
            yield from ("", f"### {family}", "", "| name | severity | fault |", "|---|---|---|")
            for name in names.split():
                yield f"| [`{name}`]({name}.md) | {known[name].row.severity} | {known[name].row.summary} |"
    yield ""


RULES: Final = {
    "Memory and registers": (
        "out-of-bounds other-variable generic-address misaligned uninitialized-register undefined-value "
        "uninitialized-memory element-type unwritten-output sparse-metadata"
    ),
    "Barriers and divergence": (
        "barrier-divergence barrier-phase membermask-mismatch inactive-lane deadlock setmaxnreg"
    ),
    "Data races": "shared-race global-race noncoherent-read lane-race",
    "Asynchronous copies": (
        "read-before-wait early-reuse missing-proxy-fence missing-tensormap-fence unfinished-copy tensor-map"
    ),
    "mbarriers": (
        "mbarrier-uninitialized mbarrier-init-race mbarrier-reinit mbarrier-inval mbarrier-as-data "
        "mbarrier-arrival-count mbarrier-tx-count mbarrier-phase mbarrier-wrong-cta unchecked-mbarrier-wait"
    ),
    "Clusters": "cluster-cta-not-started cluster-cta-exited",
    "WGMMA": "missing-wgmma-fence wgmma-register-before-wait unfinished-wgmma wgmma-descriptor",
    "Tensor memory": (
        "tmem-race tmem-alloc tmem-use-after-free tmem-leak cta-pair tmem-lanes tcgen05-mma "
        "tcgen05-descriptor tcgen05-collector tcgen05-scales missing-tcgen05-fence unfinished-tcgen05 "
        "unfinished-tcgen05-st unfinished-tcgen05-ld"
    ),
    "Cluster launch control": "cancel-response cancel-after-failure",
}
CODES: Final = {
    "The text": "syntax outside-function empty-statement",
    "The header": (
        "missing-version missing-target unknown-version newer-version unknown-target retired-target target-version"
    ),
    "Directives": "misplaced-directive directive-argument directive-conflict ignored-directive",
    "Names": (
        "undefined-register undefined-variable undefined-label undefined-function redefined-register "
        "redefined-variable redefined-label redefined-function redefined-file"
    ),
    "Declarations": "declaration initializer section-data constant-memory",
    "Calls and memory": (
        "call-target call-arguments call-argument parameter-space parameter-write parameter-bounds "
        "parameter-alignment shared-memory"
    ),
    "Control": "guard unreachable cta-group ignored-setmaxnreg",
    "Instructions": (
        "unknown-instruction modifier missing-modifier operand-count operand-kind operand-type vector-length "
        "immediate-range address-space target version removed"
    ),
}
_CHAPTERS: Final = (
    ("Rules of the simulator", "[Findings](../findings.md) explains how to read the findings of these rules.", RULES),
    (
        "Error codes of `pyptx check`",
        (
            "[Checking PTX files](../checking.md) explains how to read the messages. An example without `.version` is "
            "the body of an entry for `sm_90a` and PTX 9.0. The entry has a parameter `.param .u64 p` and registers "
            "`%p<4>` (predicates), `%r<8>` (32 bits), `%rd<8>` (64 bits) and `%f<8>` (`.f32`)."
        ),
        CODES,
    ),
)


def main(names: Sequence[str]) -> int:
    """Write the outputs of the named examples (default: all) into the rule texts, and the pages of the site."""
    for name, page in pages().items():
        if (not names or name in names) and page.row.page is not None:
            page.row.page.write_text(page.with_output(output(page)), encoding="utf-8")
    wanted = site(pages())
    PAGES.mkdir(exist_ok=True)
    for file in {path.name for path in PAGES.glob("*.md")} - wanted.keys():
        (PAGES / file).unlink()
    for file, text in wanted.items():
        (PAGES / file).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
