"""Independent tasks, executed in this process or by workers; results are in the order of the tasks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pyptx_ir.processes import completed, in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

Workers: TypeAlias = "int | Executor"
"""Number of processes (1: this one; 0: one per processor), or an executor of `concurrent.futures`."""

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


def in_order(function: Callable[[_Item], _Done], items: Iterable[_Item], workers: Workers) -> list[_Done]:
    """Return the result of `function` for each item, in order; raise its exceptions.

    The function, the items and the results must be picklable if other processes execute the tasks. An executor
    passed as `workers` is not shut down.
    """
    if workers == 1:
        return [function(item) for item in items]
    numbered = partial(_numbered, function)
    if isinstance(workers, int):
        with in_processes(numbered, enumerate(items), workers) as done:
            found = dict(done)
    else:
        found = dict(completed(numbered, enumerate(items), workers))
    return [found[number] for number in range(len(found))]


def _numbered(function: Callable[[_Item], _Done], item: tuple[int, _Item]) -> tuple[int, _Done]:
    return item[0], function(item[1])
