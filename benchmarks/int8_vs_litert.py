"""Integer inference side by side with LiteRT and its XNNPACK delegate: best time per model, in one run.

    python benchmarks/int8_vs_litert.py MODEL.tflite... [--threads 1] [--budget 2] [--out DIR]

MODEL may be a folder: all .tflite files in it that hold integers and are no Edge TPU code. The two sessions take turns, a
few runs each, so that both see the same state of the machine; the figure is the best of all runs of a side, and the ratio
is LiteRT's time over ours (above 1: we are faster). XNNPACK rounds some results the other way: outputs are compared before
any time is taken, and the largest difference is in the table.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy as np

from machine import describe_setup


def litert_session(path: pathlib.Path, threads: int):
    """LiteRT with its default delegate, XNNPACK."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=threads)
    interpreter.allocate_tensors()
    return interpreter


def feeds_for(interpreter) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    feeds = []
    for detail in interpreter.get_input_details():
        if detail["dtype"] in (np.int8, np.uint8, np.int16, np.int32):
            limits = np.iinfo(detail["dtype"])
            low, high = (0, 2) if detail["dtype"] == np.int32 else (limits.min, limits.max + 1)
            feeds.append(random.integers(low, high, detail["shape"]).astype(detail["dtype"]))
        else:
            feeds.append(random.standard_normal(detail["shape"]).astype(detail["dtype"]))
    return feeds


def run_litert(interpreter, feeds: list[np.ndarray]) -> list[np.ndarray]:
    for detail, value in zip(interpreter.get_input_details(), feeds):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def time_calls(call, count: int) -> list[float]:
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def largest_difference(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return max((float(np.max(np.abs(x.astype(np.float64) - y.astype(np.float64)))) for x, y in zip(a, b) if x.size), default=0.0)


def measure(path: pathlib.Path, threads: int, budget: float) -> dict:
    from edgecompiler.runtime import InferenceSession

    peer = litert_session(path, threads)
    feeds = feeds_for(peer)
    with InferenceSession(str(path), threads=threads) as ours:
        difference = largest_difference(list(ours.run(feeds).values()), run_litert(peer, feeds))
        sides = {"litert": lambda: run_litert(peer, feeds), "ours": lambda: ours.run(feeds)}
        slowest = max(max(time_calls(call, 2)) for call in sides.values())
        per_turn = max(1, min(20, int(0.05 / max(slowest, 1e-6))))
        turns = max(4, min(40, int(budget / (2 * per_turn * max(slowest, 1e-6)))))
        times: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(turns):
            for name, call in sides.items():
                times[name] += time_calls(call, per_turn)
        best = {name: min(values) * 1e3 for name, values in times.items()}
        medians = {f"{name}_median": statistics.median(values) * 1e3 for name, values in times.items()}
        return best | medians | {"difference": difference}


def models_of(arguments: list[pathlib.Path]) -> list[pathlib.Path]:
    found: list[pathlib.Path] = []
    for path in arguments:
        found += sorted(path.glob("*.tflite")) if path.is_dir() else [path]
    return [path for path in found if not path.stem.endswith("_edgetpu")]


def format_rows(rows: dict[str, dict]) -> list[str]:
    lines = ["| model | LiteRT ms | ours ms | ratio | largest difference of an output |", "|---|---|---|---|---|"]
    for name, record in rows.items():
        if "error" in record:
            lines.append(f"| {name} | {record['error']} | | | |")
            continue
        ratio = record["litert"] / record["ours"]
        lines.append(f"| {name} | {record['litert']:.2f} | {record['ours']:.2f} | {ratio:.2f} | {record['difference']:g} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of measuring per model")
    parser.add_argument("--out", type=pathlib.Path, help="folder for int8.{md,json}")
    args = parser.parse_args()
    rows: dict[str, dict] = {}
    for path in models_of(args.models):
        try:
            rows[path.stem] = measure(path, args.threads, args.budget)
        except Exception as error:  # a custom operator that LiteRT lacks, for example
            rows[path.stem] = {"error": str(error).splitlines()[0][:100].replace("|", "/")}
        print(f"{path.stem}: {json.dumps(rows[path.stem])}", flush=True)
    setup = describe_setup("ai-edge-litert")
    lines = ["# Integer inference against LiteRT with XNNPACK", "",
             f"{setup} {args.threads} thread{'s' if args.threads > 1 else ''}. Ratio: LiteRT's time over ours, above 1 we are faster.",
             "", *format_rows(rows)]
    print("\n".join(lines))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "int8.md").write_text("\n".join(lines) + "\n")
        (args.out / "int8.json").write_text(json.dumps({"setup": setup, "threads": args.threads, "models": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
