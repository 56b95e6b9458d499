"""Value classes are frozen dataclasses, even with methods generated on first use."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace

import pytest

from pyptx_ir.values import Unique, Value, value


@value(kw_only=True)
class Base(Value):
    leading_trivia: str = field(default="", compare=False, repr=False)


@value
class Sum(Base):
    left: int
    right: int = 2
    notes: list[str] = field(default_factory=list[str])


@value
class Nothing(Value):
    pass


@value
class Interval(Value):
    low: int
    high: int
    width: int = field(init=False)

    def __post_init__(self) -> None:
        if self.high < self.low:
            raise ValueError(f"{self.low} to {self.high}")
        object.__setattr__(self, "width", self.high - self.low)


@value
class Parsed(Unique):
    words: tuple[str, ...]

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "words", tuple(text.split()))


def test_what_a_class_does_behind_its_fields_is_done() -> None:
    class Named(Interval):
        def __init__(self, name: str) -> None:
            super().__init__(0, len(name))

    assert (Interval(2, 5).width, Named("four").width) == (3, 4)
    assert Interval(2, 5) == Interval(2, 5) != Interval(2, 6)
    with pytest.raises(ValueError, match="3 to 2"):
        Interval(3, 2)


def test_a_constructor_of_a_class_of_its_own_stays() -> None:
    one, other = Parsed("a b"), Parsed("a b")
    assert one.words == ("a", "b")
    assert one != other
    assert len({one, other, one}) == 2
    assert repr(one).endswith("Parsed(words=('a', 'b'))")


def test_a_signature_is_known_before_the_first_value_is_made() -> None:
    @value
    class Late(Value):
        x: int
        y: int = 3

    assert str(inspect.signature(Late)) == "(x: 'int', y: 'int' = 3) -> None"
    assert str(inspect.signature(Parsed)) == "(text: 'str') -> 'None'"
    assert Late(1) == Late(1, 3)


def test_a_value_is_made_as_its_fields_say() -> None:
    one = Sum(1, leading_trivia=" ")
    assert (one.left, one.right, one.notes, one.leading_trivia) == (1, 2, [], " ")
    assert one.notes is not Sum(1).notes
    assert Sum(left=3, right=4, notes=["x"]).right == 4
    assert list(inspect.signature(Sum.__init__).parameters) == ["self", "left", "right", "notes", "leading_trivia"]


@pytest.mark.parametrize("wrong", [Sum, lambda: Sum(1, 2, [], ""), lambda: Sum(1, middle=2), lambda: Nothing(1)])
def test_wrong_arguments_are_refused_by_the_name_of_the_class(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"(Sum|Nothing)\.__init__\(\)"):
        wrong()  # type: ignore[operator]  the parameter stands for any call


def test_a_value_cannot_be_changed() -> None:
    one = Sum(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'left'"):
        one.left = 2  # type: ignore[misc]  under test
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'left'"):
        del one.left
    assert not hasattr(one, "__dict__")


def test_values_are_equal_by_the_fields_that_count() -> None:
    assert Base(leading_trivia="x") == Base(leading_trivia="y")
    assert Sum(1) == Sum(1, 2) != Sum(2)
    assert Base() != Nothing()
    assert hash(Base(leading_trivia="x")) == hash(Base())
    assert repr(Sum(1, leading_trivia="x")) == "Sum(left=1, right=2, notes=[])"


def test_dataclasses_and_copies_know_values() -> None:
    one = Sum(1, leading_trivia=" ")
    assert is_dataclass(Sum)
    assert [each.name for each in fields(Sum)] == ["leading_trivia", "left", "right", "notes"]
    changed = replace(one, right=5)
    assert (changed.left, changed.right, changed.leading_trivia) == (1, 5, " ")
    copies = (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one))  # noqa: S301 - our own bytes
    for made in copies:
        assert made == one
        assert made.leading_trivia == " "
    match one:
        case Sum(left, right):
            assert (left, right) == (1, 2)


def test_a_plain_subclass_is_made_as_its_values_are() -> None:
    class Tagged(Sum):
        def __init__(self, left: int) -> None:
            super().__init__(left, notes=["tagged"])

    one = Tagged(1)
    assert type(one) is Tagged
    assert (one.left, one.right, one.notes, one.leading_trivia) == (1, 2, ["tagged"], "")
    with pytest.raises(FrozenInstanceError):
        one.right = 3  # type: ignore[misc]  under test


def test_threads_may_make_the_first_ones_together() -> None:
    for _ in range(50):
        kind = value(type("Fresh", (Value,), {"__annotations__": {"x": int}}))
        start, made = threading.Barrier(4), list[object]()

        def make(kind: type[Value] = kind, start: threading.Barrier = start, made: list[object] = made) -> None:
            start.wait()
            made.append(kind(3))  # type: ignore[call-arg]  made at run time

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(made)) == 1
