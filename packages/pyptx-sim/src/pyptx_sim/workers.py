"""Independent tasks, executed in this process or by workers."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pyptx_ir.processes import completed, in_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

Workers: TypeAlias = "int | Executor"
"""Number of processes (1: this one; 0: one per processor), or an executor of `concurrent.futures`."""

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


def numbered_results(
    function: Callable[[_Item], _Done], items: Iterable[_Item], workers: Workers
) -> Iterator[tuple[int, _Done]]:
    """Yield the number of each item and the result of `function`, in order of completion; raise its exceptions.

    The function, the items and the results must be picklable if other processes execute the tasks. An executor
    passed as `workers` is not shut down.
    """
    numbered = partial(_numbered, function)
    if workers == 1:
        yield from map(numbered, enumerate(items))
    elif isinstance(workers, int):
        with in_processes(numbered, enumerate(items), workers) as done:
            yield from done
    else:
        yield from completed(numbered, enumerate(items), workers)


def in_order(function: Callable[[_Item], _Done], items: Iterable[_Item], workers: Workers) -> list[_Done]:
    """Return the result of `function` for each item, in order; see `numbered_results`."""
    return [result for _, result in sorted(numbered_results(function, items, workers), key=itemgetter(0))]


def _numbered(function: Callable[[_Item], _Done], item: tuple[int, _Item]) -> tuple[int, _Done]:
    return item[0], function(item[1])
