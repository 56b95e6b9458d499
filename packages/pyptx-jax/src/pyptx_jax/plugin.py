"""pyptx-jax's plugin, which registers the runtime of jax arrays."""

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
    """Return the runtime of jax arrays and tracers, for all devices."""
    from pyptx_jax.runtime import RUNTIME

    return (RUNTIME,)


@hookimpl
def pyptx_doctor_checks() -> Sequence[DoctorCheck]:
    """Return the check of jax for `pyptx doctor`."""
    from pyptx_ir.plugins.rows import DoctorCheck

    return (DoctorCheck("jax", _check),)


def _check() -> Sequence[Diagnosis]:
    from pyptx_jax.doctor_check import check

    return check()
