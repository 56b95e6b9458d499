"""Typed access to parts of jax whose annotations are incomplete."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

import jax
import numpy as np
from jax.core import Tracer
from jax.extend import backend, source_info_util

from pyptx_ir.element_types import ELEMENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

# jax modules typed Any, because strict type checkers reject jax's incomplete annotations.
_JAX: Final[Any] = jax
_BACKEND: Final[Any] = backend


def concrete_type() -> type[object]:
    """Return the type of concrete arrays; jax has no public name for it."""
    with _JAX.ensure_compile_time_eval():  # so that zeros() returns a concrete array even while jax traces
        return cast("type[object]", type(_JAX.numpy.zeros(())))


def is_traced(value: object) -> bool:
    """Return whether an array is a jax tracer, which has no values until the program runs."""
    return isinstance(value, Tracer)


def is_device(value: object) -> bool:
    """Return whether a value is a jax device."""
    return isinstance(value, _JAX.Device)


def dtype(name: str) -> np.dtype[Any]:
    """Return jax's dtype with this name: a NumPy dtype or an extension of jax."""
    return cast("np.dtype[Any]", _JAX.numpy.dtype(name))


def has_dtype(name: str) -> bool:
    """Return whether jax has a dtype of this name; the boolean type is `bool` in NumPy, `bool_` in jax."""
    return name == "bool" or hasattr(_JAX.numpy, name)


def shape_and_dtype(value: object) -> tuple[tuple[object, ...], np.dtype[Any] | None]:
    """Return shape and dtype of a jax or NumPy array; the dtype of any other value is None."""
    if not isinstance(value, jax.Array | np.ndarray):
        return (), None
    array = cast("Any", value)
    return tuple(array.shape), array.dtype


def is_integer(held: np.dtype[Any]) -> bool:
    """Return whether a dtype is an integer or boolean type."""
    return held.name == "bool" or bool(_JAX.numpy.issubdtype(held, _JAX.numpy.integer))


def is_plain(value: object) -> bool:
    """Return whether a value is a NumPy array (not a subclass) that jax accepts without converting its dtype."""
    return type(value) is np.ndarray and value.dtype in _PLAIN


# The fast path excludes 64-bit dtypes: without jax_enable_x64 jax converts them to 32 bits. The slow path rejects them.
_PLAIN: Final = frozenset(dtype(row.array) for row in ELEMENT_TYPES if has_dtype(row.array) and row.bits < 64)


def as_array(array: object) -> jax.Array:
    """Return a jax array with the values of another array."""
    return cast("jax.Array", _JAX.numpy.asarray(array))


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> jax.Array:
    """Return a jax array of zeros."""
    return cast("jax.Array", _JAX.numpy.zeros(shape, dtype))


def is_array(value: object) -> TypeGuard[jax.Array]:
    """Return whether a value is a jax array, traced or not."""
    return isinstance(value, jax.Array)


def on_device(device: object) -> AbstractContextManager[None]:
    """In the `with` body, make a device jax's default, on which jax places uncommitted arrays."""
    return cast("AbstractContextManager[None]", _JAX.default_device(device))


def compiled(function: Callable[..., object], name: str) -> Callable[..., object]:
    """Return a function compiled by `jax.jit`, under a name that profilers show."""

    def named(*arrays: object) -> object:
        return function(*arrays)

    named.__name__ = named.__qualname__ = name
    return cast("Callable[..., object]", _JAX.jit(named))


def wide_types() -> bool:
    """Return whether 64-bit arrays are enabled in jax."""
    return bool(_JAX.config.jax_enable_x64) or str(_JAX.config.jax_explicit_x64_dtypes) == "allow"


def platforms() -> frozenset[str]:
    """Return the platforms for which jax has devices; initializes jax's backends."""
    return frozenset(_BACKEND.backends())


def scope(name: str) -> AbstractContextManager[None]:
    """Give operations traced in the `with` body a name that profilers show (`jax.named_scope`)."""
    return cast("AbstractContextManager[None]", _JAX.named_scope(name))


def differentiable(
    function: Callable[..., object], forwards: Callable[..., object], backwards: Callable[..., object]
) -> Callable[..., object]:
    """Return a function with its own reverse-mode derivative (`jax.custom_vjp`)."""
    made = _JAX.custom_vjp(function)
    made.defvjp(forwards, backwards)
    return cast("Callable[..., object]", made)


def with_tangents(function: Callable[..., object], rule: Callable[..., object]) -> Callable[..., object]:
    """Return a function with its own forward-mode derivative (`jax.custom_jvp`)."""
    made = _JAX.custom_jvp(function)
    made.defjvp(rule)
    return cast("Callable[..., object]", made)


def hide_frames(*packages: str) -> None:
    """Exclude packages from jax's source locations, so that profilers show the user's lines."""
    for package in packages:
        for folder in sys.modules[package].__path__:
            source_info_util.register_exclusion(folder)


def register(name: str, stages: Mapping[str, object], state: str, kind: Mapping[str, object], platform: str) -> None:
    """Register the handlers of a custom call, and the type of their state, for a platform."""
    _JAX.ffi.register_ffi_type(state, dict(kind), platform)
    _JAX.ffi.register_ffi_target(name, dict(stages), platform)


# --- jax.shard_map: mesh axes along which an array's values vary ------------------------------------------------------


def struct(shape: tuple[int, ...], dtype: object, varying: frozenset[str] = frozenset()) -> jax.ShapeDtypeStruct:
    """Return the `jax.ShapeDtypeStruct` of an array whose values differ between devices along these mesh axes."""
    if not varying:
        return cast("jax.ShapeDtypeStruct", _JAX.ShapeDtypeStruct(shape, dtype))
    place = _JAX.sharding
    whole = place.NamedSharding(place.get_abstract_mesh(), place.PartitionSpec(*(None for _ in shape)))
    kind = place.ManualAxisType(varying=varying)
    return cast("jax.ShapeDtypeStruct", _JAX.ShapeDtypeStruct(shape, dtype, sharding=whole, manual_axis_type=kind))


def varying(array: jax.Array) -> frozenset[str]:
    """Return the mesh axes along which an array's values differ between devices."""
    return cast("frozenset[str]", _JAX.typeof(array).manual_axis_type.varying)


def agreeing(arrays: Sequence[jax.Array]) -> tuple[list[jax.Array], frozenset[str]]:
    """Return the arrays, all marked as varying along the union of their mesh axes, and then this union."""
    axes = frozenset[str]().union(*map(varying, arrays))
    return [varying_along(array, axes - varying(array)) for array in arrays], axes


def varying_along(array: jax.Array, axes: frozenset[str]) -> jax.Array:
    """Return an array that is also marked as varying along mesh `axes` (`jax.lax.pcast`)."""
    return cast("jax.Array", _JAX.lax.pcast(array, tuple(sorted(axes)), to="varying")) if axes else array
