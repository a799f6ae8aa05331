"""Float inference side by side with ONNX Runtime: best time per model, one thread and two, in one run.

    python benchmarks/inference_vs_ort.py [--only 'mobilenet*'] [--threads 1 2] [--out DIR]

The two sessions take turns, a few runs each, so that both see the same state of the machine; the figure is the best of
all runs of a side, which is what other work on the machine disturbs least (medians are in the .json), and the ratio is
ONNX Runtime's time over ours (above 1: we are faster). Sessions are made once,
inputs are the same, outputs are compared before any time is taken.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

import model_set
from comparison import save_json, save_lines
from engines import one_line, ort_session
from machine import describe_setup
from turns import time_in_turns
from worker_pool import run_isolated
from zoo_check import BOUND, relative_error


def measure(job: tuple[model_set.Model, int, float]) -> dict:
    """In a worker: best times of both sides, or the reason why there are none."""
    model, threads, budget = job
    from edgecompiler.runtime import InferenceSession

    feeds = model.feeds()
    peer = ort_session(model.path, threads)
    try:
        with InferenceSession(str(model.path), input_shapes=model.input_shapes(), threads=threads) as ours:
            expected, actual = peer.run(None, feeds), list(ours.run(feeds).values())
            if relative_error(actual, expected) > BOUND:
                return {"error": "outputs differ"}
            return time_in_turns({"ort": lambda: peer.run(None, feeds), "ours": lambda: ours.run(feeds)}, budget)
    except Exception as error:
        return {"error": one_line(f"{type(error).__name__}: {error}")}


def summary(rows: dict[str, dict[int, dict]], threads: list[int]) -> list[str]:
    lines = []
    for t in threads:
        ratios = [r[t]["ort"] / r[t]["ours"] for r in rows.values() if t in r and "error" not in r[t]]
        if ratios:
            lines += [f"{t} thread{'s' if t > 1 else ''}, {len(ratios)} models: ratio geometric mean "
                      f"{statistics.geometric_mean(ratios):.2f}, minimum {min(ratios):.2f}, median {statistics.median(ratios):.2f}, "
                      f"maximum {max(ratios):.2f}; at least 1.0 in {sum(r >= 1 for r in ratios)}, "
                      f"below 0.5 in {sum(r < 0.5 for r in ratios)}.", ""]
    return lines


def format_rows(rows: dict[str, dict[int, dict]], threads: list[int]) -> list[str]:
    head = "| model | " + " | ".join(f"ORT ms ({t}) | ours ms ({t}) | ratio ({t})" for t in threads) + " |"
    lines = [head, "|---|" + "---|" * (3 * len(threads))]
    for name, by_threads in rows.items():
        cells = []
        for t in threads:
            record = by_threads.get(t, {"error": "not run"})
            if "error" in record:
                cells += [record["error"].replace("|", "\\|"), "", ""]
            else:
                cells += [f"{record['ort']:.2f}", f"{record['ours']:.2f}", f"{record['ort'] / record['ours']:.2f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="glob on the model name")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of measuring per model and thread count")
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--out", type=pathlib.Path, help="folder for inference.{md,json}")
    args = parser.parse_args()
    models = model_set.all_models(args.only)
    jobs = [(m, t, args.budget) for m in models for t in args.threads]
    rows: dict[str, dict[int, dict]] = {}
    for index, outcome, value in run_isolated(measure, jobs, 1, args.timeout):
        model, threads, _ = jobs[index]
        record = value if outcome == "done" else {"error": f"{outcome}: {value}"}
        rows.setdefault(model.name, {})[threads] = record
        print(f"{model.name} threads={threads}: {json.dumps(record)}", flush=True)
    setup = describe_setup("onnxruntime")
    lines = ["# Float inference against ONNX Runtime", "", setup + " Ratio: ONNX Runtime's time over ours, above 1 we are faster.",
             "", *summary(rows, args.threads), *format_rows(rows, args.threads)]
    print("\n".join(lines))
    save_lines(args.out, "inference.md", lines)
    save_json(args.out, "inference.json", {"setup": setup, "models": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
