"""Lines of `launch_lines` run unedited: unused pointers are null, dynamic shared memory is large enough."""

from __future__ import annotations

import pytest

from pyptx_dsl.modules.dynamic_memory import bytes_reached
from pyptx_dsl.modules.launch_lines import launch_lines
from pyptx_dsl.modules.pointers import pointers
from pyptx_ir.syntax import nodes, parse


def kernel(body: str) -> nodes.Function:
    """Return the PTX of a kernel that uses pointer `a`, but not pointer `scratch`."""
    text = (
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 s[];\n"
        ".visible .entry k(.param .u64 .ptr .global .align 1 a, .param .u32 n,\n"
        ".param .u64 .ptr .global .align 1 scratch)\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
        f"ld.param.b64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1; st.global.b32 [%rd2], %r1;\n{body}\nret;\n}}\n"
    )
    return next(node for node in parse(text).body if isinstance(node, nodes.Function))


REACHED = {
    "st.shared.b32 [s+1024], %r1;": 1024 + 16,
    "mov.u32 %r2, s; add.s32 %r3, %r2, 4096; st.shared.b32 [%r3+512], %r1;": 4096 + 512 + 16,
    "add.s32 %r4, %r5, s; add.s32 %r6, %r4, 98304; st.shared.b32 [%r6], %r1;": 98304 + 16,
    "cvt.u32.u64 %r2, %rd1; st.shared.b32 [%r2+4096], %r1;": 0,
    "mov.u32 %r2, other; st.shared.b32 [%r2+4096], %r1;": 0,
}


@pytest.mark.parametrize("body", REACHED)
def test_constant_offsets_tell_how_much_dynamic_memory_there_is(body: str) -> None:
    assert bytes_reached(kernel(body), ["s"]) == REACHED[body]


@pytest.mark.parametrize(("offset", "smem"), [(1024, 49152), (131072, 132096)])
def test_a_launch_asks_for_what_the_kernel_reaches(offset: int, smem: int) -> None:
    function = kernel(f"st.shared.b32 [s+{offset}], %r1;")
    said = "\n".join(launch_lines(function, pointers(function), "k", "file", dynamic=["s"]))
    assert f"smem={smem}" in said
    assert "run(a, n=16, scratch=0)" in said
