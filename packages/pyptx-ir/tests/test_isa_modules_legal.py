"""Modules that look wrong but are legal pass, and ptxas accepts them."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.modules import check_text

from .modules_legal import LEGAL
from .test_isa_modules_broken import ptxas_takes

every = pytest.mark.parametrize("name", LEGAL)


@every
def test_a_legal_module_has_no_error(name: str) -> None:
    assert [one for one in check_text(LEGAL[name]) if one.is_error] == []


@pytest.mark.ptxas
@every
def test_ptxas_takes_it(name: str) -> None:
    assert ptxas_takes(LEGAL[name])
