"""pyptx-torch's plugin satisfies the plugin contract, and its runtime runs calls with torch tensors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from pyptx_ir.plugins.manager import manager
from pyptx_ir.plugins.testing import check_plugin
from pyptx_torch.runtime import RUNTIME

pytestmark = pytest.mark.torch


def test_the_plugin_keeps_the_contract():
    check_plugin("pyptx_torch.plugin")


def test_the_runtimes_are_collected_without_importing_torch():
    source = (
        "import sys; from pyptx_ir.plugins.manager import manager\n"
        "assert 'torch' in [row.name for row in manager().runtimes()]; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


def test_it_outranks_the_simulator():
    names = [row.name for row in manager().runtimes()]
    assert names.index("torch") < names.index("sim")


@pytest.mark.parametrize(
    ("arguments", "claimed"),
    [
        ((torch.ones(1),), True),
        ((torch.ones(1), torch.ones(1, device="meta")), True),
        ((torch.nn.Parameter(torch.ones(1)),), True),
        ((torch.device("cpu"),), True),
        (("cuda",), True),
        ((torch.ones(1), np.ones(1)), False),
        ((torch.ones(1), 1.0), False),
        ((np.ones(1),), False),
        ((), False),
    ],
    ids=str,
)
def test_it_claims_tensors_and_the_device_of_a_call_without_any(arguments, claimed):
    assert RUNTIME.claims(arguments) is claimed
