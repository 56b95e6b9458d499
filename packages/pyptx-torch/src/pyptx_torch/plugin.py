"""pyptx-torch's plugin, which registers the runtime of torch tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Diagnosis, DoctorCheck, Runtime


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin implements."""
    return API_VERSION


@hookimpl
def pyptx_runtimes() -> Sequence[Runtime]:
    """Return the runtime of torch tensors, for all devices."""
    from pyptx_torch.runtime import RUNTIME

    return (RUNTIME,)


@hookimpl
def pyptx_doctor_checks() -> Sequence[DoctorCheck]:
    """Return the check of torch for `pyptx doctor`."""
    from pyptx_ir.plugins.rows import DoctorCheck

    return (DoctorCheck("torch", _check),)


def _check() -> Sequence[Diagnosis]:
    from pyptx_torch.doctor_check import check

    return check()
