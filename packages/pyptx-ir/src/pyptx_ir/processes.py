"""Work in other processes that an interrupt ends cleanly: what stands behind `-j` of the commands."""

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
"""How many items are handed out ahead.

Enough to keep a large cluster busy; whoever stops early has as many done in vain, at most.
"""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def jobs(text: str) -> int:
    """Read the word behind `-j`: how many processes, 0 for one per processor. Raises ValueError."""
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def completed(
    function: Callable[[_Item], _Result], items: Iterable[_Item], executor: Executor
) -> Generator[_Result, None, None]:
    """Yield what a function returns for each item, in the order in which it is ready.

    Closing the iterator cancels what has not begun; the executor stays open.
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
    """Call a function for each item in so many processes (0: one per processor), which end with the block.

    Yields the results, in the order in which they are ready. What the function raises, the iterator raises. An
    interrupt reaches all processes of a terminal: it ends the calls that run, and is raised here once.

    A pool's locks are Python's, and an interrupt that is raised while one is taken leaves it taken for ever. So a
    thread that sees no interrupts holds the pool, and a queue is waited for here, which has no such lock. The workers
    see interrupts only while they call `function`.
    """
    results, leaving = SimpleQueue[_Result | _End](), list[bool]()
    thread = Thread(target=_hand_out, args=(partial(_interruptible, function), items, number, results, leaving))
    try:
        _start_tracker()
        before = _mask("SIG_BLOCK", signal.SIGINT)  # threads and processes that are begun here see none either
        try:
            thread.start()
        finally:
            _mask("SIG_SETMASK", *before)
        yield _read(results)
    finally:
        leaving.append(True)
        if thread.ident is not None:
            thread.join()


class _End:
    """What comes behind the last result."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def _hand_out(
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
    number: int,
    results: SimpleQueue[_Result | _End],
    leaving: list[bool],
) -> None:
    """Put results on a queue, until somebody leaves."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_all_start_methods, get_context

    # No fork of a process that has threads, as this one does.
    context = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    try:
        with ProcessPoolExecutor(number or None, context) as pool, closing(completed(function, items, pool)) as done:
            for result in done:
                results.put(result)
                if leaving:
                    break
    except BaseException as error:  # noqa: BLE001 -- it is raised where the results are read
        results.put(_End(error))
    else:
        results.put(_End())


def _read(results: SimpleQueue[_Result | _End]) -> Iterator[_Result]:
    while not isinstance(result := results.get(), _End):
        yield result
    if result.error is not None:
        raise result.error


def _interruptible(function: Callable[[_Item], _Result], item: _Item) -> _Result:
    """Call a function in a worker; an interrupt that came before is raised as it begins."""
    before = _mask("SIG_BLOCK")
    try:
        _mask("SIG_UNBLOCK", signal.SIGINT)
        return function(item)
    finally:
        _mask("SIG_SETMASK", *before)


def _mask(how: str, *signals: int) -> set[int]:
    """Change which signals this thread sees, where the system can do that; return what it did not see before."""
    if not hasattr(signal, "pthread_sigmask"):
        return set()
    return signal.pthread_sigmask(getattr(signal, how), signals)


def _start_tracker() -> None:
    """Start multiprocessing's tracker of resources, which lets interrupts through to whoever starts it."""
    if sys.platform != "win32":
        from multiprocessing.resource_tracker import ensure_running

        ensure_running()
