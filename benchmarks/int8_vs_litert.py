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
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

import numpy as np

from comparison import save_json, save_lines
from litert import open_model, run_in_order
from machine import describe_setup
from turns import time_in_turns


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


def largest_difference(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    return max((float(np.max(np.abs(x.astype(np.float64) - y.astype(np.float64)))) for x, y in zip(a, b) if x.size), default=0.0)


def measure(path: pathlib.Path, threads: int, budget: float) -> dict:
    from edgecompiler.runtime import InferenceSession

    peer = open_model(path, reference=False, num_threads=threads)  # with its default delegate, XNNPACK
    feeds = feeds_for(peer)
    with InferenceSession(str(path), threads=threads) as ours:
        difference = largest_difference(list(ours.run(feeds).values()), run_in_order(peer, feeds))
        sides = {"litert": lambda: run_in_order(peer, feeds), "ours": lambda: ours.run(feeds)}
        return time_in_turns(sides, budget) | {"difference": difference}


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
    save_lines(args.out, "int8.md", lines)
    save_json(args.out, "int8.json", {"setup": setup, "threads": args.threads, "models": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
