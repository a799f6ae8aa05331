"""Time of two sides that take turns, a few runs each, so that both see the same state of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def _time_calls(call: Callable[[], object], count: int) -> list[float]:
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def time_in_turns(sides: Mapping[str, Callable[[], object]], budget: float) -> dict[str, float]:
    """In milliseconds the best of each side's runs, and the median as NAME_median; budget: seconds for all."""
    slowest = max(max(_time_calls(call, 2)) for call in sides.values())
    per_turn = max(1, min(20, int(0.05 / max(slowest, 1e-6))))
    turns = max(4, min(40, int(budget / (2 * per_turn * max(slowest, 1e-6)))))
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(turns):
        for name, call in sides.items():
            times[name] += _time_calls(call, per_turn)
    best = {name: min(values) * 1e3 for name, values in times.items()}
    return best | {f"{name}_median": statistics.median(values) * 1e3 for name, values in times.items()}
