"""Frames are the user's unless the attribute `MARK` of the module or of a package around it marks them as internal."""

from __future__ import annotations

import sys
from types import FrameType, ModuleType

import pytest

from pyptx_ir.machinery import MARK, is_internal, is_machinery


def frame_of(module: str, **names: object) -> FrameType:
    """Return a frame that runs in a module of this name."""
    namespace = {"__name__": module, "sys": sys, **names}
    exec("frame = sys._getframe()", namespace)  # noqa: S102  the text is here
    frame = namespace["frame"]
    assert isinstance(frame, FrameType)
    return frame


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a marked package with an unmarked subpackage and one that overrides the mark."""
    for name, mark in {"acme": True, "acme.inner": None, "acme.examples": False, "plain": None}.items():
        module = ModuleType(name)
        if mark is not None:
            setattr(module, MARK, mark)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("module", "names", "marked"),
    [
        ("acme", {MARK: True}, True),
        ("acme.module", {}, True),
        ("acme.inner.module", {}, True),
        ("acme.absent.module", {}, True),
        ("acme.examples.gemm", {}, False),
        ("acme.examples.hopper.gemm", {}, False),
        ("acme.module", {MARK: False}, False),
        ("plain.module", {}, False),
        ("plain.module", {MARK: True}, True),
        ("acme_module", {}, False),
        ("__main__", {}, False),
        ("__main__", {MARK: "no"}, False),
    ],
)
def test_the_nearest_mark_counts(module: str, names: dict[str, object], marked: bool) -> None:  # noqa: FBT001  a column
    frame = frame_of(module, **names)
    assert (is_machinery(frame), is_internal(frame)) == (marked, marked)


@pytest.mark.parametrize(
    ("module", "machinery", "internal"),
    [
        ("contextlib", True, True),
        ("functools", True, False),
        ("torch.autograd.function", True, False),
        ("jax._src.api", True, False),
        ("jaxlib.xla", True, False),
        ("numpy.linalg", False, False),
        ("pyptx_ir.anything", True, True),
    ],
)
def test_what_lies_between_a_call_and_us_is_no_users_and_stays_in_tracebacks(
    module: str,
    machinery: bool,  # noqa: FBT001  a column
    internal: bool,  # noqa: FBT001  a column
) -> None:
    frame = frame_of(module)
    assert (is_machinery(frame), is_internal(frame)) == (machinery, internal)


def test_a_frame_without_a_module_is_the_users() -> None:
    namespace: dict[str, object] = {"sys": sys, "__name__": None}
    exec("frame = sys._getframe()", namespace)  # noqa: S102  the text is here
    frame = namespace["frame"]
    assert isinstance(frame, FrameType)
    assert not is_machinery(frame)
