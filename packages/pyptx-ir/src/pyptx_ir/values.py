"""Frozen dataclasses that are cheap to define.

For a frozen class with slots, `dataclass` generates and compiles up to seven methods, at half a millisecond per class.
That would be half of the time of `import pyptx`, which defines seventy. These classes share their methods, and the
constructor of a class is compiled at its first call.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform, overload

from pyptx_ir.renamed import former_attribute

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import Field
    from inspect import Signature

    ValueT = TypeVar("ValueT", bound="Value")

_become: Any = object.__dict__["__class__"].__set__


class _SignatureOfFields:
    """Signature for `inspect.signature` and `help`: compiles the constructor, and `inspect` then uses its signature."""

    def __get__(self, _: object, kind: Any) -> Signature | None:  # noqa: ANN401 - the function assigns its `__init__`
        if kind.__init__ is _first_init:
            _compile(kind)
        return None  # `inspect.signature` then uses the signature of the constructor


class Value:
    """Methods that `dataclass(frozen=True, slots=True)` would generate for each class, except the constructor."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __signature__ = _SignatureOfFields()
    if not TYPE_CHECKING:
        __getattr__ = former_attribute

    def __eq__(self, other: object) -> bool:
        kind = self.__class__
        if other.__class__ is not kind:
            return NotImplemented
        key = _KEYS[kind]
        same: bool = key(self) == key(other)
        return same

    def __hash__(self) -> int:
        return hash(_KEYS[self.__class__](self))

    def __repr__(self) -> str:
        kind: Any = self.__class__
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in _shown(kind)])
        return f"{kind.__qualname__}({shown})"

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self) -> list[object]:
        return [getattr(self, one.name) for one in fields(self)]

    def __setstate__(self, state: list[object]) -> None:
        for one, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, one.name, value)


class Unique(Value):
    """A value that is equal only to itself, as with `dataclass(frozen=True, slots=True, eq=False)`."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


@overload
def value(kind: type[ValueT], /) -> type[ValueT]: ...
@overload
def value(*, kw_only: bool = False) -> Callable[[type[ValueT]], type[ValueT]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(kind: type[ValueT] | None = None, /, *, kw_only: bool = False) -> Any:
    """Make a subclass of `Value` a frozen dataclass with slots. A constructor that it defines is kept."""

    def made(kind: type[ValueT]) -> type[ValueT]:
        done: Any = dataclass(init=False, eq=False, repr=False, slots=True, kw_only=kw_only)(kind)
        if "__init__" not in vars(kind):
            done.__init__ = _first_init
        finished: type[ValueT] = done
        return finished

    return made if kind is None else made(kind)


def _first_init(self: Value, *arguments: object, **keywords: object) -> None:
    """Compile the constructor of a class, install it in place of this function, and call it."""
    _compile(type(self)).__init__(self, *arguments, **keywords)


def _compile(kind: type) -> Any:  # noqa: ANN401 - the function assigns its `__init__`
    """Return the class that defines the constructor of `kind`, after compiling the constructor."""
    owner: Any = next(one for one in kind.__mro__ if "__init__" in vars(one))
    if owner.__init__ is _first_init:  # false if another thread has compiled the constructor
        owner.__init__ = _constructor(owner)
    return owner


_CONSTRUCTOR = """\
def __init__({parameters}):
    if self.__class__ is not __kind:
        {outside}
        {then}
        return
    __become(self, __draft)
    {inside}
    self.__class__ = __kind
    {then}
"""


def _constructor(kind: Any) -> Any:  # noqa: ANN401 - a function whose parameters are the fields
    """Return the constructor of a frozen class with these fields. An undecorated subclass has no own `draft` class."""
    names = {"__kind": kind, "__draft": draft(kind), "__become": _become, "__put": object.__setattr__, "__new": MISSING}
    listed = sorted((one for one in fields(kind) if one.init), key=lambda one: bool(one.kw_only))
    parameters, values = ["self"], dict[str, str]()
    for one in listed:
        if one.kw_only and "*" not in parameters:
            parameters.append("*")
        parameter, values[one.name] = _parameter(one, names)
        parameters.append(parameter)
    text = _CONSTRUCTOR.format(
        parameters=", ".join(parameters),
        outside="; ".join(["pass", *[f"__put(self, {name!r}, {value})" for name, value in values.items()]]),
        inside="; ".join(["pass", *[f"self.{name} = {value}" for name, value in values.items()]]),
        then="self.__post_init__()" if hasattr(kind, "__post_init__") else "pass",
    )
    exec(text, names)  # noqa: S102 - the names are field names
    made: Any = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = {one.name: one.type for one in listed} | {"return": None}
    return made


def _parameter(one: Field[Any], names: dict[str, object]) -> tuple[str, str]:
    """Return Python source of a field's constructor parameter and of its value; add the objects they use to `names`."""
    name = one.name
    if one.default_factory is not MISSING:
        names[f"__make_{name}"] = one.default_factory
        return f"{name}=__new", f"__make_{name}() if {name} is __new else {name}"
    if one.default is not MISSING:
        names[f"__default_{name}"] = one.default
        return f"{name}=__default_{name}", name
    return name, name


def draft(kind: type) -> Any:  # noqa: ANN401 - callers assign attributes of the class
    """Return a class whose instances, with all slots set, become `kind` by `value.__class__ = kind`."""
    namespace: dict[str, object] = {
        "__slots__": kind.__dict__["__slots__"],
        # `__setattr__` alone does not suffice: assignments are slow if the inherited `__delattr__` remains.
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,
        "__init__": object.__init__,
    }
    return type(f"{kind.__name__}Draft", kind.__bases__, namespace)


class _Keys(dict[Any, "Callable[[object], Any]"]):
    """Function that returns the compared fields of a value, by class."""

    def __missing__(self, kind: Any) -> Callable[[object], Any]:  # noqa: ANN401 - as above
        names = [one.name for one in fields(kind) if one.compare]
        key = self[kind] = attrgetter(*names) if names else _nothing
        return key


_KEYS = _Keys()


@cache
def _shown(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    return tuple(one.name for one in fields(kind) if one.repr)


def _nothing(_: object) -> object:
    return ()
