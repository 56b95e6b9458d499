"""A negative index that is extended as u32: the finding names the negative element that the index means."""

from __future__ import annotations

import numpy as np
import pytest

from .ptx_text import execute


@pytest.mark.parametrize("size", [1, 2, 4, 8])
@pytest.mark.parametrize("index", [1, 7, 64])
def test_a_wrapped_index_is_told_as_the_element_that_it_means(size: int, index: int) -> None:
    body = f"mov.u32 %r1, {index}; neg.s32 %r1, %r1; mad.wide.u32 %rd2, %r1, {size}, %rd0; ld.global.u8 %r2, [%rd2];"
    (finding,) = execute(body, np.zeros(64, np.uint64)).findings
    assert finding.rule == "out-of-bounds"
    assert (
        f": element -{index} of argument 0 'out', if the index -{index} was zero-extended from u32" in finding.message
    )


@pytest.mark.parametrize("offset", [-4, 65 * 8, 1 << 20, (1 << 34) + 4096])
def test_other_addresses_are_told_by_their_distance(offset: int) -> None:
    (finding,) = execute(f"ld.global.u8 %r2, [%rd0+{offset}];", np.zeros(64, np.uint64)).findings
    assert finding.rule == "out-of-bounds"
    assert "bytes before" in finding.message or "bytes after" in finding.message
