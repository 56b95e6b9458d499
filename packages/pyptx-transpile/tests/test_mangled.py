"""Names of C++: the same in every process, whatever its strings hash to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

NAMES = {
    "_Z5scaleB2v1B3cw5f": "scale[abi:v1][abi:cw5](float)",
    "_Z5scaleB3cw5B2v1f": "scale[abi:cw5][abi:v1](float)",
    "_Z4copyPVKiPf": "copy(int const volatile*, float*)",
}


@pytest.mark.parametrize("seed", range(4))
def test_a_mangled_name_reads_the_same_in_every_process(seed: int) -> None:
    program = (
        "import sys; from pyptx_transpile.mangled import signature; print(*map(signature, sys.argv[1:]), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *NAMES],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == list(NAMES.values())
