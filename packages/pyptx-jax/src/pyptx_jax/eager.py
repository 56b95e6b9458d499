"""Calls with concrete arrays, outside of jit, through functions that jax has compiled (low overhead)."""

from __future__ import annotations

import weakref
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final, cast

from pyptx_dsl.contract.scalars import apart
from pyptx_dsl.errors import KeywordError
from pyptx_ir.errors import PyptxError
from pyptx_jax.arguments import arguments_of
from pyptx_jax.calls import bind, specialized
from pyptx_jax.failures import answer, failure_of
from pyptx_jax.framework import compiled, concrete_type, is_device, is_plain, is_traced, on_device
from pyptx_jax.keywords import constants
from pyptx_jax.numbers import split
from pyptx_jax.wrappers import Wrappers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import jax

    from pyptx_dsl.kernels.declaration import Declaration
    from pyptx_ir.plugins.rows import Launchable


def call(kernel: Launchable[Declaration], arrays: Sequence[object], keywords: Mapping[str, object]) -> object:
    """Check a call, with errors at the user's line; then run the kernel, or add the call to the traced program."""
    rest, numbers = split(kernel, keywords)
    own, device = _sorted(kernel, (*arrays, *numbers.values()), rest)
    special = specialized(kernel, arguments_of(kernel, arrays), own, numbers)
    given = cast("Sequence[jax.Array]", arrays)
    if numbers or any(map(is_traced, given)):
        return bind(special, given, numbers)
    with nullcontext() if device is None else on_device(device):
        return answer(_wrappers(kernel).get(own), given)


def launcher(kernel: Launchable[Declaration], miss: Callable[..., object]) -> Callable[..., object]:
    """Return a fast path for calls with concrete jax arrays, or with no arrays; it forwards other calls to `miss`."""
    wrappers = _wrappers(kernel)
    alone = _without_arrays(kernel, wrappers, miss)
    launch = straight_to(wrappers, lambda *arrays, **keywords: miss(*arrays, **keywords) if arrays else alone(keywords))
    if not kernel.declaration.scalars:
        return launch

    def separated(*arguments: object, **keywords: object) -> object:
        arrays, named = apart(kernel.declaration, arguments, keywords)
        return launch(*arrays, **named)

    return separated


def straight_to(wrappers: Wrappers, miss: Callable[..., object]) -> Callable[..., object]:
    """Return a fast path for calls with at least one jax array and only jax or NumPy arrays; `miss` gets other calls.

    The fast path calls functions that jax has compiled, which check shapes, dtypes and devices; if they reject a call,
    `miss` raises the error.
    """
    concrete = concrete_type()
    plain = wrappers.get({})

    def launch(*arrays: object, **keywords: object) -> object:
        function = wrappers.known(keywords) if keywords else plain
        ours = False
        for array in arrays:
            if type(array) is concrete:
                ours = True
            elif not is_plain(array):
                return miss(*arrays, **keywords)
        if function is None or not ours:
            return miss(*arrays, **keywords)
        try:
            return function(*arrays)
        except (PyptxError, ValueError, RuntimeError) as error:
            failure = failure_of(error)
        if failure is not None:
            raise failure
        return miss(*arrays, **keywords)

    return launch


def _without_arrays(
    kernel: Launchable[Declaration], wrappers: Wrappers, miss: Callable[..., object]
) -> Callable[[Mapping[str, object]], object]:
    """Return a fast path for calls without arrays; its argument is the mapping of a call's keywords, with `device`."""
    told = "device" not in kernel.declaration.keywords

    def launch(keywords: Mapping[str, object]) -> object:
        own = dict(keywords)
        device = own.pop("device", None) if told else None
        function = wrappers.known(own)
        if function is None or not is_device(device):
            return miss(**keywords)
        with on_device(device):
            return answer(function, ())

    return launch


def _sorted(
    kernel: Launchable[Declaration], arrays: Sequence[object], keywords: Mapping[str, object]
) -> tuple[dict[str, object], object]:
    """Return the keywords without `device=`, and the device of a call without arrays; raise KeywordError for `out=`."""
    own, known = dict(keywords), kernel.declaration.keywords
    if "out" in own and "out" not in known:
        raise KeywordError(
            f"{kernel.name}: jax arrays cannot be written to", help="do not pass out=; use the returned arrays"
        )
    device = None if "device" in known else own.pop("device", None)
    if device is not None and arrays:
        raise KeywordError(
            f"{kernel.name}: device= is only valid for calls without arrays",
            help="do not pass device=: a call runs on the device of its arrays",
        )
    if device is not None and not is_device(device):
        raise KeywordError(
            f"{kernel.name}: device must be a jax.Device, got {device!r}", help="pass one of jax.devices()"
        )
    return constants(kernel.name, own), device


# --- functions that jax compiles --------------------------------------------------------------------------------------

_WRAPPERS: Final[weakref.WeakKeyDictionary[Launchable[Declaration], Wrappers]] = weakref.WeakKeyDictionary()


def _wrappers(kernel: Launchable[Declaration]) -> Wrappers:
    known = _WRAPPERS.get(kernel)
    return known if known is not None else _WRAPPERS.setdefault(kernel, _made(kernel))


def _made(kernel: Launchable[Declaration]) -> Wrappers:
    """Return a cache of jax-compiled functions that reference the kernel weakly; each call keeps it alive."""
    reference, name = weakref.ref(kernel), kernel.name

    def make(keywords: Mapping[str, object]) -> Callable[..., object]:
        def function(*arrays: jax.Array) -> object:
            alive = reference()
            assert alive is not None  # noqa: S101  see above
            return bind(specialized(alive, arguments_of(alive, arrays), keywords), arrays)

        return compiled(function, name)

    return Wrappers(make)
