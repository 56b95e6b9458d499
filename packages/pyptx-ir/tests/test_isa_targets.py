"""Order of PTX targets: which target includes the features of which other."""

from __future__ import annotations

import pytest

from pyptx_ir.isa.target_rows import TARGETS, TargetError, TargetRow
from pyptx_ir.isa.targets import default_version, includes
from pyptx_ir.plugins.targets import find_target

NAMES = [target.name for target in TARGETS]


def test_names_are_unique_and_spell_number_and_kind() -> None:
    assert len(set(NAMES)) == len(NAMES)
    suffix = {"plain": "", "family": "f", "arch": "a"}
    assert [f"sm_{target.number}{suffix[target.kind]}" for target in TARGETS] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_target_is_found_and_includes_itself(name: str) -> None:
    assert find_target(name).name == name
    assert includes(name, name)


def test_inclusion_is_transitive_and_only_renamed_targets_include_each_other() -> None:
    pairs = {(have, need) for have in NAMES for need in NAMES if includes(have, need)}
    for have, need in pairs:
        for further in NAMES:
            if (need, further) in pairs:
                assert (have, further) in pairs, (have, need, further)
    both = {frozenset(pair) for pair in pairs if pair[0] != pair[1] and pair[::-1] in pairs}
    assert both == {frozenset({f"sm_101{suffix}", f"sm_110{suffix}"}) for suffix in ("", "f", "a")}


@pytest.mark.parametrize(
    ("have", "need", "legal"),
    [
        ("sm_90", "sm_80", True),
        ("sm_80", "sm_90", False),
        ("sm_90a", "sm_90", True),
        ("sm_90", "sm_90a", False),
        ("sm_100a", "sm_90a", False),
        ("sm_100a", "sm_100f", True),
        ("sm_103a", "sm_100f", True),
        ("sm_103f", "sm_100f", True),
        ("sm_100f", "sm_103f", False),
        ("sm_103", "sm_100f", False),
        ("sm_110a", "sm_100f", False),
        ("sm_120f", "sm_100f", False),
        ("sm_121a", "sm_120f", True),
        ("sm_121a", "sm_120a", False),
        ("sm_120", "sm_100", True),
        ("sm_107f", "sm_100f", True),
        ("sm_110a", "sm_101a", True),
    ],
)
def test_plain_targets_are_ordered_families_carry_forward_and_arch_targets_stand_alone(
    have: str,
    need: str,
    legal: bool,  # noqa: FBT001 - a table's column
) -> None:
    assert includes(have, need) is legal


def test_a_third_partys_target_has_what_it_extends() -> None:
    acme = TargetRow("acme_1", 1, extends=("sm_90",))
    assert includes(acme, "sm_80")
    assert includes(acme, acme)
    assert not includes(acme, "sm_90a")
    assert not includes("sm_120", acme)


@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_the_default_version_knows_the_target(target: TargetRow) -> None:
    assert default_version(target) == default_version(target.name) >= target.since
    assert target.until is None or default_version(target) <= target.until


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("sm_75", (8, 5)),
        ("sm_90a", (8, 5)),
        ("sm_100a", (8, 8)),
        ("sm_101a", (8, 8)),
        ("sm_103a", (8, 8)),
        ("sm_110a", (9, 0)),
        ("sm_120", (8, 7)),
        ("sm_120f", (8, 8)),
        ("sm_121a", (8, 8)),
    ],
)
def test_default_versions_are_those_that_users_know_where_ptxas_takes_them(name: str, version: tuple[int, int]) -> None:
    assert default_version(name) == version


@pytest.mark.parametrize(
    ("name", "help"),
    [("sm_90b", "sm_90a"), ("sm90a", "sm_90a"), ("SM_90A", "known targets"), ("hopper", "known targets")],
)
def test_an_unknown_target_is_an_error_with_the_closest_names(name: str, help: str) -> None:
    with pytest.raises(TargetError, match="unknown target") as caught:
        find_target(name)
    assert caught.value.help is not None
    assert help in caught.value.help


def test_limits_are_those_of_the_programming_guide() -> None:
    kib = {
        name: find_target(name).shared_optin // 1024
        for name in ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_120")
    }
    assert kib == {"sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90a": 227, "sm_120": 99}
    assert all(target.shared_static <= target.shared_optin for target in TARGETS)
    assert all((target.cluster > 1) == (target.number >= 90) for target in TARGETS)
    assert {target.registers for target in TARGETS if target.number > 30} == {255}
    assert {target.registers for target in TARGETS if target.number <= 30} == {63, 124}
    assert all(target.threads == (512 if target.number < 20 else 1024) for target in TARGETS)
