"""Timeline of a warp-specialized Hopper GEMM: its pipeline stages overlap copies and WGMMAs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

from .gallery import load

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]
K_STEPS = 5


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Event]]:
    """Return one CTA's timeline spans by their track's name prefix, simulated with delayed completion."""
    gemm = load("hopper/gemm_warp_specialized")
    rng = np.random.default_rng(0)
    shapes = ((gemm.BM - 3, K_STEPS * gemm.BK), (K_STEPS * gemm.BK, gemm.BN))
    a, b = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in shapes)
    path: Path = tmp_path_factory.mktemp("timelines") / "product.json"
    result = gemm.gemm.simulate(a, b, delay_async=True, trace=path)
    assert result.findings == ()
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    found: dict[str, list[Event]] = {}
    for event in events:
        if event["ph"] == "X":
            found.setdefault(names[event["tid"]].split(" #")[0], []).append(event)
    return found


def overlapping(first: list[Event], second: list[Event]) -> int:
    """Return the number of spans in `first` that overlap with any span of `second`."""
    times = [(event["ts"], event["ts"] + event["dur"]) for event in second]
    return sum(any(event["ts"] < end and start < event["ts"] + event["dur"] for start, end in times) for event in first)


def test_every_warp_and_engine_has_a_track(spans: dict[str, list[Event]]) -> None:
    assert {f"warp {number}" for number in range(12)} | {"TMA loads", "wgmma"} <= spans.keys()
    assert {event["name"] for event in spans["TMA loads"]} == {"cp.async.bulk.tensor.2d"}
    assert {event["name"] for event in spans["wgmma"]} == {"wgmma.mma_async"}


def test_products_run_while_the_next_stages_are_loaded(spans: dict[str, list[Event]]) -> None:
    assert overlapping(spans["wgmma"], spans["TMA loads"]) > len(spans["wgmma"]) // 2


def test_the_producer_is_ahead_of_the_consumers(spans: dict[str, list[Event]]) -> None:
    first_product = min(event["ts"] for event in spans["wgmma"])
    assert sum(event["ts"] < first_product for event in spans["TMA loads"]) > len(spans["TMA loads"]) // 2


def test_spans_stand_at_lines_of_the_example(spans: dict[str, list[Event]]) -> None:
    running = [event for name in spans if name.startswith("warp") for event in spans[name] if event["cat"] == "run"]
    assert all(event["name"].startswith("gemm_warp_specialized.py:") for event in running)
    waits = {event["name"] for event in spans["warp 4"] if event["cat"] == "wait"}
    assert any(name.startswith("waiting at mbarrier") and "phase 0" in name for name in waits)
