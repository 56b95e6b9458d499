"""Resolver that XLA calls once per custom call of a compiled program; it returns the launch that the call describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyptx_jax.arguments import bytes_of
from pyptx_jax.failures import FAILURES
from pyptx_jax.records import RECORDS
from pyptx_launch import xla

if TYPE_CHECKING:
    from pyptx_ir.plugins.rows import Input, Output
    from pyptx_jax.records import Origin
    from pyptx_launch import Plan


def resolve(platform: str, record: bytes) -> xla.Launch:
    """Return the launch for a custom call's record; an exception becomes the text of XLA's error."""
    with FAILURES.kept():
        origin = RECORDS.read(record.decode())
        if platform == "cpu":
            from pyptx_jax.cpu import run_of

            return _launch(origin, run=run_of(origin))
        from pyptx_jax.cuda import plan_of

        return _launch(origin, plan=plan_of(origin))


def _launch(origin: Origin, *, plan: Plan | None = None, run: xla.Run | None = None) -> xla.Launch:
    special = origin.special
    items = [*map(_item, special.inputs), *(xla.Item(0, each.nbytes) for each in origin.operands)]
    return xla.Launch([*items, *map(_item, special.outputs)], len(items), special.mutated, plan=plan, run=run)


def _item(row: Input | Output) -> xla.Item:
    return xla.Item(len(row.shape), bytes_of(row))
