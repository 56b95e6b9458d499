"""Run a function in parallel processes, which an interrupt ends cleanly, for `-j` of the commands."""

from __future__ import annotations

import signal
import sys
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Executor, Future

IN_FLIGHT: Final = 512
"""Number of items submitted to the executor before the caller reads their results.

This number keeps a large cluster busy. A caller that stops early wastes at most this many results.
"""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def jobs(text: str) -> int:
    """Parse the argument of `-j`: number of processes, 0 for one per processor. Raise ValueError if it is invalid."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def completed(
    function: Callable[[_Item], _Result], items: Iterable[_Item], executor: Executor
) -> Generator[_Result, None, None]:
    """Yield the result of a function for each item, in order of completion, from an executor.

    Closing the iterator cancels pending items; the executor stays open.
    """
    from concurrent.futures import FIRST_COMPLETED, wait

    rest = iter(items)
    waiting: set[Future[_Result]] = set()
    try:
        while True:
            waiting.update(executor.submit(function, item) for item in islice(rest, IN_FLIGHT - len(waiting)))
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        for future in waiting:
            future.cancel()


@contextmanager
def in_processes(
    function: Callable[[_Item], _Result], items: Iterable[_Item], number: int
) -> Generator[Iterator[_Result]]:
    """Call a function for each item in `number` processes (0: one per processor), which end with the `with` block.

    Yields the results in order of completion. The iterator raises the exceptions of the function. An interrupt reaches
    all processes of a terminal: it ends the running calls and is raised here once.

    An interrupt raised while a lock of the pool is held would leave it locked indefinitely. So a thread with interrupts
    blocked owns the pool, and the calling thread waits on a queue without such a lock. Workers unblock interrupts only
    while they call `function`.
    """
    results, leaving = SimpleQueue[_Result | _End](), list[bool]()
    thread = Thread(target=_hand_out, args=(partial(_interruptible, function), items, number, results, leaving))
    try:
        _start_tracker()
        start_without_interrupts(thread)
        yield _read(results)
    finally:
        leaving.append(True)
        if thread.ident is not None:
            thread.join()


def start_without_interrupts(thread: Thread) -> None:
    """Start a thread in which interrupts are blocked, also in its own processes and threads."""
    before = _mask("SIG_BLOCK", signal.SIGINT)  # new processes and threads inherit this mask
    try:
        thread.start()
    finally:
        _mask("SIG_SETMASK", *before)


class _End:
    """Last entry in the queue of a pool's results, with the error that ended the pool, if any."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def _hand_out(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    number: int,
    results: SimpleQueue[_Result | _End],
    leaving: list[bool],
) -> None:
    """Put the results of a pool into a queue until `leaving` is non-empty."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_all_start_methods, get_context

    # Workers must not start by fork, because this process has threads.
    context = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    try:
        with ProcessPoolExecutor(number or None, context) as pool, closing(completed(function, items, pool)) as done:
            for result in done:
                results.put(result)
                if leaving:
                    break
    except BaseException as error:  # noqa: BLE001 -- `_read` raises it
        results.put(_End(error))
    else:
        results.put(_End())


def _read(results: SimpleQueue[_Result | _End]) -> Iterator[_Result]:
    while not isinstance(result := results.get(), _End):
        yield result
    if result.error is not None:
        raise result.error


def _interruptible(function: Callable[[_Item], _Result], item: _Item) -> _Result:
    """Call a function in a worker process. A pending interrupt is raised at the start of the call."""
    before = _mask("SIG_BLOCK")
    try:
        _mask("SIG_UNBLOCK", signal.SIGINT)
        return function(item)
    finally:
        _mask("SIG_SETMASK", *before)


def _mask(how: str, *signals: int) -> set[int]:
    """Change the signal mask of this thread, if the system supports it; return the previous mask."""
    if not hasattr(signal, "pthread_sigmask"):
        return set()
    return signal.pthread_sigmask(getattr(signal, how), signals)


def _start_tracker() -> None:
    """Start multiprocessing's resource tracker, which unblocks interrupts in the thread that starts it."""
    if sys.platform != "win32":
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
