"""pyptx-jax as a plugin: the runtime of jax arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_ir.plugins import API_VERSION, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyptx_ir.plugins.rows import Diagnosis, Examination, Runtime


@hookimpl
def pyptx_api_version() -> int:
    """Return the version of the plugin interface that this plugin speaks."""
    return API_VERSION


@hookimpl
def pyptx_runtimes() -> Sequence[Runtime]:
    """Return the runtime that claims jax arrays and tracers, on whatever device they are."""
    from pyptx_jax.runtime import RUNTIME

    return (RUNTIME,)


@hookimpl
def pyptx_examinations() -> Sequence[Examination]:
    """Return what `pyptx doctor` says of jax."""
    from pyptx_ir.plugins.rows import Examination

    return (Examination("jax", _examine),)


def _examine() -> Sequence[Diagnosis]:
    from pyptx_jax.examination import examine

    return examine()
