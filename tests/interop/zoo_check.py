"""Runs every model of the set through our session and compares with ONNX Runtime.

    python tests/interop/zoo_check.py [--only 'mobilenet*'] [--out DIR]

Per model: the graph as imported and the optimised one, on one thread and on two, and the file that `optimize` writes
(onnx.checker full check, then run by ONNX Runtime). The bound is max abs error <= 1e-4 x max abs output.
Exit status 0 only if everything holds.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np

import comparison
import model_set
from engines import ort_session, refusal
from worker_pool import run_isolated

BOUND = 1e-4
# Models known to lie above the bound, with the error they may not exceed. An entry that is within the bound again fails
# the run, so that the list stays true.
KNOWN_ABOVE: dict[str, float] = {}
# name, options of InferenceSession
MODES = {
    "as imported, 1 thread": {"optimize": False, "threads": 1},
    "as imported, 2 threads": {"optimize": False, "threads": 2},
    "optimised, 1 thread": {"threads": 1},
    "optimised, 2 threads": {"threads": 2},
}
WRITTEN = "written .onnx in ORT"


def relative_error(actual: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The worst output's max abs error over its max abs value; infinity if form or type differ."""
    if len(actual) != len(expected):
        return float("inf")
    worst = 0.0
    for a, e in zip(actual, expected):
        if a.shape != e.shape or a.dtype != e.dtype:
            return float("inf")
        if e.size == 0:
            continue
        a64, e64 = a.astype(np.float64), e.astype(np.float64)
        error = np.abs(a64 - e64).max()
        if not np.isfinite(error):
            return float("inf")
        scale = np.abs(e64).max()
        worst = max(worst, float(error / scale) if scale > 0 else (0.0 if error == 0 else float("inf")))
    return worst


def run_ort(path: pathlib.Path, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    return ort_session(path, threads=2).run(None, feeds)


def run_ours(model: model_set.Model, feeds: dict[str, np.ndarray], options: dict) -> list[np.ndarray]:
    from edgecompiler.runtime import InferenceSession

    with InferenceSession(str(model.path), input_shapes=model.input_shapes(), **options) as session:
        return list(session.run(feeds).values())


def check_written(model: model_set.Model, feeds: dict, expected: list) -> float:
    import edgecompiler
    import onnx

    with tempfile.TemporaryDirectory() as scratch:
        written = pathlib.Path(scratch) / "optimised.onnx"
        edgecompiler.optimize(model.path, written)
        onnx.checker.check_model(str(written), full_check=True)
        return relative_error(run_ort(written, feeds), expected)


def check_model(model: model_set.Model) -> dict[str, float | str]:
    """In a worker: error per mode, or the reason why there is none."""
    feeds = model.feeds()
    expected = run_ort(model.path, feeds)
    checks = {mode: lambda o=options: relative_error(run_ours(model, feeds, o), expected) for mode, options in MODES.items()}
    checks[WRITTEN] = lambda: check_written(model, feeds, expected)
    result: dict[str, float | str] = {}
    for name, check in checks.items():
        try:
            result[name] = check()
        except Exception as error:
            refused = refusal(error)
            result[name] = f"{refused.code} {refused.reason}".strip()
    return result


def is_good(value: float | str) -> bool:
    return isinstance(value, float) and value <= BOUND


def is_as_known(name: str, result: dict[str, float | str]) -> bool:
    """Above the bound, as listed, and no worse."""
    limit = KNOWN_ABOVE.get(name, BOUND)
    return all(isinstance(v, float) and v <= limit for v in result.values())


def table(results: dict[str, dict], columns: list[str]) -> list[str]:
    lines = ["# Outputs against ONNX Runtime", "", f"Max abs error over max abs output, worst output; the bound is {BOUND:g}.", ""]
    lines += ["| model | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name, result in results.items():
        cells = [f"{v:.1e}" if isinstance(v, float) else v.replace("|", "\\|") for v in (result.get(c, "") for c in columns)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="glob on the model name")
    parser.add_argument("--out", type=pathlib.Path, help="folder for zoo_check.{md,json}")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds per model")
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    models = model_set.all_models(args.only)
    columns = [*MODES, WRITTEN]
    results: dict[str, dict] = {}
    bad = unexpected = 0
    started = time.monotonic()
    for index, outcome, value in run_isolated(check_model, models, args.workers, args.timeout):
        result = value if outcome == "done" else {c: f"{outcome}: {value}" for c in columns}
        results[models[index].name] = result
        faults = {c: v for c, v in result.items() if not is_good(v)}
        bad += bool(faults)
        listed = models[index].name in KNOWN_ABOVE
        unexpected += bool(faults) != listed or (listed and not is_as_known(models[index].name, result))
        worst = max((v for v in result.values() if isinstance(v, float)), default=float("nan"))
        print(f"{models[index].name}: " + (f"{faults}" if faults else f"ok, worst {worst:.1e}"), flush=True)
    comparison.save_lines(args.out, "zoo_check.md", table(dict(sorted(results.items())), columns))
    comparison.save_json(args.out, "zoo_check.json", results)
    print(f"zoo check: {len(models) - bad} of {len(models)} models within {BOUND:g} in {time.monotonic() - started:.0f} s")
    print(f"zoo check: {unexpected} not as expected")
    return 1 if unexpected or not models else 0


if __name__ == "__main__":
    sys.exit(main())
