"""Moved names: available at the old path for one release, with a warning at the importing line."""

from __future__ import annotations

import types
import warnings

import pytest

from pyptx_ir.deprecated import moved_names
from pyptx_ir.plugins import API_VERSION, hookimpl, rows
from pyptx_ir.plugins.discovery import Candidate
from pyptx_ir.plugins.manager import Plugins
from pyptx_ir.plugins.rows import Diagnosis, DoctorCheck


def test_a_moved_name_is_the_new_one_and_warns_at_the_line_that_asks() -> None:
    module = types.ModuleType("old_place")
    vars(module)["__getattr__"] = moved_names("old_place", {"Kernel": "pyptx_ir.plugins.rows.DoctorCheck"})
    with pytest.warns(
        DeprecationWarning, match=r"^old_place\.Kernel is deprecated .* use pyptx_ir\.plugins\.rows\.DoctorCheck$"
    ) as told:
        assert module.Kernel is DoctorCheck
    assert [warning.filename for warning in told] == [__file__]
    with pytest.raises(AttributeError, match="module 'old_place' has no attribute 'Kernels'"):
        _ = module.Kernels


@pytest.mark.parametrize("module", ["pyptx_ir.plugins", "pyptx_ir.plugins.rows"])
def test_an_examination_is_a_doctor_check(module: str) -> None:
    names: dict[str, object] = {}
    with pytest.warns(DeprecationWarning, match="use .*DoctorCheck"):
        exec(f"from {module} import Examination", names)  # noqa: S102 - an import as in an old plugin
    assert names["Examination"] is DoctorCheck


def old_plugin() -> object:
    plugin = types.ModuleType("old")

    @hookimpl
    def pyptx_api_version() -> int:
        return API_VERSION

    @hookimpl
    def pyptx_examinations() -> list[DoctorCheck]:
        return [DoctorCheck("old", lambda: [Diagnosis("old", "ok", "fine")])]

    vars(plugin).update(pyptx_api_version=pyptx_api_version, pyptx_examinations=pyptx_examinations)
    return plugin


def test_a_plugin_with_the_old_hook_is_asked_and_told() -> None:
    plugins = Plugins(lambda: [Candidate("old", "acme 1.0", old_plugin)])
    with pytest.warns(DeprecationWarning, match="pyptx_examinations is deprecated"):
        checks = plugins.doctor_checks()
    assert [(check.name, check.run()[0].found) for check in checks] == [("old", "fine")]


def test_nobody_else_is_warned() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows.DoctorCheck is DoctorCheck
        assert not hasattr(rows, "Examinations")
