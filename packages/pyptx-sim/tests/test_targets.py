"""The simulated target is the module's, of any GPU generation, or that given to `run`."""

from __future__ import annotations

import numpy as np
import pytest

import pyptx_sim
from pyptx_ir.isa.modules import check_text
from pyptx_ir.isa.target_rows import TARGETS, TargetError
from pyptx_sim.command import run as command
from pyptx_sim.errors import LaunchError, ProgramError, UnknownForm

TEXT = """.version {version[0]}.{version[1]}
.target {target}
.address_size 64
.visible .entry k(.param .u64 out)
{{
	.reg .u64 d; .reg .u32 r, s;
	.shared .b32 buffer[256];
	ld.param.u64 d, [out];
	mov.u32 r, %tid.x;
	mul.wide.u32 %rd, r, 4;
	mov.u32 s, buffer;
	mad.lo.u32 s, r, 4, s;
	st.shared.u32 [s], r;
	bar.sync 0;
	xor.b32 s, s, 4;
	ld.shared.u32 r, [s];
	add.s64 d, d, %rd;
	st.global.u32 [d], r;
	ret;
}}
""".replace(".reg .u32 r, s;", ".reg .u32 r, s; .reg .u64 %rd;")


@pytest.mark.parametrize("row", TARGETS, ids=[row.name for row in TARGETS])
def test_plain_ptx_runs_on_every_target(row):
    text = TEXT.format(target=row.name, version=max(row.since, (2, 3)))
    out = np.zeros(256, np.uint32)
    assert pyptx_sim.run(text, grid=1, block=256, args=[out]).findings == ()
    assert (out == np.arange(256) ^ 1).all()
    assert not [one for one in check_text(text) if one.is_error]


def test_an_old_target_has_its_own_limits():
    text = TEXT.format(target="sm_13", version=(2, 3)).replace("buffer[256]", "buffer[8192]")
    with pytest.raises(LaunchError, match=r"limit 16384 \(sm_13\)"):
        pyptx_sim.run(text, grid=1, block=32, args=[np.zeros(256, np.uint32)])
    pyptx_sim.run(text, grid=1, block=32, args=[np.zeros(256, np.uint32)], target="sm_75")


def test_a_target_that_nobody_knows_is_an_error_at_its_line():
    text = TEXT.format(target="sm_91", version=(8, 5))
    out = np.zeros(256, np.uint32)
    with pytest.raises(ProgramError, match=r"unknown target 'sm_91'\nPTX line 2: \.target sm_91"):
        pyptx_sim.run(text, grid=1, block=256, args=[out])
    with pytest.raises(TargetError, match="unknown target 'sm_91'"):
        pyptx_sim.run(text, grid=1, block=256, args=[out], target="sm_91")
    pyptx_sim.run(text, grid=1, block=256, args=[out], target="sm_90")
    assert (out == np.arange(256) ^ 1).all()


def test_the_command_takes_a_target(tmp_path, capsys):
    path = tmp_path / "k.ptx"
    path.write_text(TEXT.format(target="sm_91", version=(8, 5)), encoding="utf-8")
    options = [str(path), "--block", "256", "--arg", "u32[256]", "--save", "out=-"]
    assert command(options) == 2
    assert "unknown target 'sm_91'" in capsys.readouterr().err
    assert command([*options, "--target", "sm_90"]) == 0
    assert "1   0   3   2" in capsys.readouterr().out
    assert command([*options, "--target", "sm_92"]) == 2


def test_schedules_are_explored_on_the_given_target():
    text = TEXT.format(target="sm_91", version=(8, 5))
    found = pyptx_sim.explore(text, grid=1, block=256, args=[np.zeros(256, np.uint32)], seeds=(0, 1), target="sm_90")
    assert found.clean


def test_instructions_of_a_later_target_are_still_forms_of_the_table():
    """`pyptx check` reports an instruction that the target lacks; the simulator executes it."""
    text = TEXT.format(target="sm_30", version=(3, 0)).replace("bar.sync 0;", "barrier.sync.aligned 0; nonsense.b32 r;")
    with pytest.raises(UnknownForm, match="nonsense"):
        pyptx_sim.run(text, grid=1, block=256, args=[np.zeros(256, np.uint32)])
