"""Simplification side by side: nodes left and time, `edgecompile optimize` against onnxsim.

    python benchmarks/simplify_vs_onnxsim.py [--only 'resnet*'] [--out DIR] [--peer-only]

Both sides start from a file and end with a file: onnxsim as load + simplify + save in a warm process (its import time
is not counted), ours as the whole run of the program, start-up included. Nodes are counted in the written files,
subgraphs included, Constant nodes not (they are storage, not work). The best of several runs counts for each side.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "interop"))

import model_set
from engines import one_line
from worker_pool import run_isolated


def count_nodes(path: pathlib.Path) -> int:
    import onnx

    def count(graph: onnx.GraphProto) -> int:
        total = 0
        for node in graph.node:
            total += node.op_type != "Constant"
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    total += count(attribute.g)
                total += sum(count(g) for g in attribute.graphs)
        return total

    model = onnx.load(path, load_external_data=False)
    return count(model.graph)


def simplify_with_peer(job: tuple[model_set.Model, int]) -> dict:
    """In a worker: onnxsim's nodes and best time."""
    model, repeats = job
    import onnx
    import onnxsim

    times, nodes = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "simplified.onnx"
        for _ in range(repeats):
            begin = time.perf_counter()
            with contextlib.redirect_stdout(io.StringIO()):
                simplified, _ = onnxsim.simplify(onnx.load(model.path), skip_shape_inference=False)
            onnx.save(simplified, out)
            times.append(time.perf_counter() - begin)
        nodes = count_nodes(out)
    return {"nodes": nodes, "seconds": min(times)}


def simplify_with_ours(model: model_set.Model, binary: str, repeats: int) -> dict:
    times = []
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "optimised.onnx"
        for _ in range(repeats):
            begin = time.perf_counter()
            done = subprocess.run([binary, "optimize", os.fspath(model.path), "-o", os.fspath(out)], capture_output=True, text=True)
            times.append(time.perf_counter() - begin)
            if done.returncode != 0:
                return {"error": one_line(done.stderr)}
        return {"nodes": count_nodes(out), "seconds": min(times)}


def run_all(models: list[model_set.Model], binary: str | None, args: argparse.Namespace) -> dict[str, dict]:
    rows: dict[str, dict] = {}
    jobs = [(m, args.repeats) for m in models]
    for index, outcome, value in run_isolated(simplify_with_peer, jobs, 1, args.timeout):
        model = models[index]
        row = {"before": count_nodes(model.path)}
        row["onnxsim"] = value if outcome == "done" else {"error": f"{outcome}: {value}"}
        if binary:
            row["ours"] = simplify_with_ours(model, binary, max(3, args.repeats))
        rows[model.name] = row
        print(model.name, json.dumps(row), flush=True)
    return dict(sorted(rows.items()))


def format_row(name: str, row: dict) -> str:
    def cells(side: dict) -> tuple[str, str]:
        if "error" in side:
            return side["error"].replace("|", "\\|"), ""
        return str(side["nodes"]), f"{side['seconds'] * 1e3:.0f}"

    peer, ours = row["onnxsim"], row.get("ours", {"error": "not run"})
    ratio = f"{peer['seconds'] / ours['seconds']:.1f}" if "seconds" in peer and "seconds" in ours else ""
    return f"| {name} | {row['before']} | " + " | ".join((*cells(peer), *cells(ours))) + f" | {ratio} |"


def summary(rows: dict[str, dict]) -> list[str]:
    both = {n: r for n, r in rows.items() if "seconds" in r["onnxsim"] and "seconds" in r.get("ours", {})}
    if not both:
        return []
    ratios = sorted(r["onnxsim"]["seconds"] / r["ours"]["seconds"] for r in both.values())
    more = [n for n, r in both.items() if r["ours"]["nodes"] > r["onnxsim"]["nodes"]]
    fewer = sum(r["ours"]["nodes"] < r["onnxsim"]["nodes"] for r in both.values())
    return [
        f"{len(both)} models both simplify: times faster min {ratios[0]:.1f}, median {ratios[len(ratios) // 2]:.1f}, "
        f"max {ratios[-1]:.1f}; fewer nodes in {fewer}, equal in {len(both) - fewer - len(more)}, more in {len(more)}"
        + (f" ({', '.join(more)})" if more else "") + ".",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="glob on the model name")
    parser.add_argument("--repeats", type=int, default=1, help="runs of onnxsim; ours runs at least three times")
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--out", type=pathlib.Path, help="folder for simplify.{md,json}")
    parser.add_argument("--peer-only", action="store_true")
    args = parser.parse_args()
    binary = None if args.peer_only else model_set.find_binary()
    rows = run_all(model_set.all_models(args.only), os.fspath(binary) if binary else None, args)
    lines = ["| model | nodes before | onnxsim nodes | onnxsim ms | edgecompile nodes | edgecompile ms | times faster |",
             "|---|---|---|---|---|---|---|"]
    lines += [format_row(n, r) for n, r in rows.items()] + ["", *summary(rows)]
    print("\n".join(lines))
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "simplify.md").write_text("\n".join(lines) + "\n")
        (args.out / "simplify.json").write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
